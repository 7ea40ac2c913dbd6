"""A CUDA device that is only pretended: numbers stay on the host, rules are those of a device.

Within `pretending()` there are tensors on a device. Their operations run on the processor, after a
look at what CUDA would do. Products of integers, which it has not, are refused, so are operations
on tensors of two devices; and every operation is counted for which the host has to wait. Copies
that x[[1, 2]] and torch.tensor(.., device=..) make of a list are not seen, and are refused.
Nothing here says how fast a device is, or that its floats have the same last bits.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = torch.device("meta")
"""The name under which it goes: the only one beside the processor that every build of torch has."""

PRODUCTS = {
    "mm",
    "bmm",
    "addmm",
    "baddbmm",
    "addbmm",
    "mv",
    "addmv",
    "dot",
    "vdot",
    "_int_mm",
    "linear",
}
"""CUDA has these of floats alone."""

WAITING = {
    "_local_scalar_dense",
    "equal",
    "is_nonzero",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "unique_dim",
    "unique_consecutive",
    "_unique",
    "_unique2",
}
"""For the numbers, or for the shape of the result, the host waits."""

INDEXING = {"index", "index_put", "index_put_", "_unsafe_index"}
BETWEEN = {"_to_copy", "copy_", "_pin_memory", "is_pinned"}


class LackingError(Exception):
    """An operation that a CUDA device has not."""


class MixedError(Exception):
    """An operation on tensors of two devices."""


class Pretended(Tensor):
    """A tensor of the pretended device; `inside` has its numbers, on the host."""

    inside: Tensor

    @staticmethod
    def __new__(cls, real: Tensor) -> "Pretended":
        found: Pretended = Tensor._make_wrapper_subclass(
            cls,
            real.size(),
            strides=real.stride(),
            storage_offset=real.storage_offset(),
            dtype=real.dtype,
            device=DEVICE,
        )
        found.inside = real
        return found

    def tolist(self) -> Any:
        """As a device has it: a copy, then the list."""
        return self.cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """As a device has it: refused."""
        raise TypeError(f"a tensor on a device is no array of numpy (force = {force})")

    def data_ptr(self) -> int:
        """Where its numbers are."""
        return self.inside.data_ptr()

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_others: Any) -> Any:
        raise MixedError(f"{func} on the pretended device after its end")


class PretendedDevice(TorchDispatchMode):
    """Carries out the operations, and counts for which of them the host waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = func.overloadpacket.__name__
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        there = [tensor for tensor in tensors if isinstance(tensor, Pretended)]
        asked = kwargs.get("device")
        onto = bool(there) if asked is None else torch.device(asked).type == DEVICE.type
        if name == "is_pinned":
            return False
        if there or onto:
            self._look(name, tensors, args, onto=onto, held=kwargs)
        if asked is not None and onto:
            kwargs["device"] = torch.device("cpu")
        wrapper = {id(tensor.inside): tensor for tensor in there}
        plain = tree_map(lambda x: x.inside if isinstance(x, Pretended) else x, (args, kwargs))
        if name == "_pin_memory":
            pinned = plain[0][0].clone()
            pinned.pinned = True
            return pinned
        found = func(
            *plain[0],
            **{**plain[1], **({"non_blocking": False} if "non_blocking" in plain[1] else {})},
        )
        if not onto:
            return found

        def wrapped(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return wrapper.get(id(value)) if id(value) in wrapper else Pretended(value)

        return tree_map(wrapped, found)

    def _look(
        self, name: str, tensors: list[Tensor], args: Any, *, onto: bool, held: dict[str, Any]
    ) -> None:
        """Refuse what a device would refuse; count what the host waits for."""
        if name in PRODUCTS and not all(tensor.is_floating_point() for tensor in tensors):
            raise LackingError(f"{name} of integers")
        host = [tensor for tensor in tensors if not isinstance(tensor, Pretended)]
        if any(tensor.device.type == DEVICE.type for tensor in host):
            raise MixedError(f"{name} with numbers of a list that were copied to the device unseen")
        if name == "_to_copy":
            self._copied(tensors[0], onto=onto, at_once=not held.get("non_blocking"))
        elif name == "copy_":
            if host:
                onto = isinstance(args[0], Pretended)
                waits = not (len(args) > 2 and args[2]) and not held.get("non_blocking")
                self._copied(args[1], onto=onto, at_once=waits)
        elif name in INDEXING:
            indices = [index for index in args[1] if index is not None]
            masks = [index for index in indices if index.dtype in (torch.bool, torch.uint8)]
            if masks or any(index in host for index in map(_Same, indices)):
                self.waits[name] += 1
            values = [t for t in host if all(t is not index for index in indices) and t.dim()]
            if values:
                raise MixedError(f"{name} on tensors of two devices")
        elif any(tensor.dim() for tensor in host) and len(host) < len(tensors):
            raise MixedError(f"{name} on tensors of two devices")
        if name in WAITING:
            self.waits[name] += 1

    def _copied(self, source: Tensor, *, onto: bool, at_once: bool) -> None:
        """Between host and device only a copy of pinned memory to the device goes on by itself."""
        if isinstance(source, Pretended) == onto:
            return
        free = onto and not at_once and getattr(source, "pinned", False)
        if not free:
            self.waits["to the device" if onto else "to the host"] += 1


class _Same:
    """Equal to the very same tensor alone."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __eq__(self, other: object) -> bool:
        return self.tensor is other

    __hash__ = None


@contextlib.contextmanager
def pretending() -> Iterator[PretendedDevice]:
    """Within the block there is a device."""
    with PretendedDevice() as device:
        yield device
