"""`python -m parkade`: the same as the `parkade` command."""

from parkade.cli import main

main()
