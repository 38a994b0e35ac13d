"""`python -m parkade`: the same as the `parkade` command."""

from parkade.cli import main

if __name__ == "__main__":
    main()
