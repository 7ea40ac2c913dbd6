"""`python -m torch_backend` is `valid-torch`, so that torchrun can start it."""

from torch_backend.cli import main

if __name__ == "__main__":
    main()
