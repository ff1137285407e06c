"""How networks and trees are trained: the one loop, and the parts that learners share."""
