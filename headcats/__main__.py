"""`python -m headcats`: the command line."""

from headcats.cli import main

if __name__ == "__main__":
    main()
