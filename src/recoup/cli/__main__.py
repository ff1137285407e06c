"""``python -m recoup.cli`` does what ``recoup`` does."""

from recoup.cli import main

if __name__ == "__main__":
    main()
