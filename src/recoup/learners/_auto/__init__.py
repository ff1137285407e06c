"""The parts of AutoPU: what it tries, keeps, combines, calibrates and reports."""
