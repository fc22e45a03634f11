"""``python -m resweep``: the command, where its script is not on the path."""

from resweep.cli import main

if __name__ == "__main__":
    main()
