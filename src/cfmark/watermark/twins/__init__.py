"""The keyed watermark: two candidate answers a query, of which a secret coin issues one."""

from cfmark.watermark.twins.kernel import gap_and_kernel as gap_and_kernel

__all__ = ["gap_and_kernel"]
