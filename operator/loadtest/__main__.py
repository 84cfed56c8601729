"""`python -m loadtest` is the command `loadtest`."""

from loadtest.cli.main import main

if __name__ == "__main__":
    main()
