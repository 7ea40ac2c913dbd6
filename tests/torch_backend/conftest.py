"""One thread a process: the tests run side by side, and small products only lose by threads."""

import torch

torch.set_num_threads(1)
