"""`python -m sample_runner`: becomes the web server that the environment asks for."""

from sample_runner.start import main

main()
