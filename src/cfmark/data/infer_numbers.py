"""What a column of numbers becomes in a first schema: its kind, bounds, precision and special codes."""

import json
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from cfmark.data.scan import MAX_NEGATIVES, Tally
from cfmark.data.schema import MAX_DECIMALS, MAX_SCALED, MAX_STEPS, MAX_VALUE
from cfmark.errors import TableError

# A column that keeps fewer steps than this within the limit on decimals has lost what it says.
_LEAST_STEPS = 100


def number_lines(tally: Tally, source: str) -> tuple[str, list[str]]:
    """Choose kind, bounds, precision and special codes; return the reason and the lines."""
    whole = tally.decimals == 0
    finest = precision = _finest(tally)
    size = Decimal(max(abs(tally.low), abs(tally.high)))
    while _steps(tally.low, tally.high, precision) > MAX_STEPS or size / precision > MAX_SCALED:
        precision *= 10
    on_grid = all(Decimal(str(code)) % precision == 0 for code in tally.negatives)
    codes = _codes(tally) if on_grid else []
    low, high = _down(tally.lowest_above if codes else tally.low, precision), _up(tally.high, precision)
    lost = tally.decimals > MAX_DECIMALS and (high - low) / precision < _LEAST_STEPS
    if max(abs(low), abs(high)) >= MAX_VALUE or lost:
        raise TableError(
            f"numbers from {tally.low:g} to {tally.high:g} do not fit a grid of at most {MAX_STEPS:,} steps "
            f"and {MAX_DECIMALS} decimals; use other units, {advice(tally)}",
            source=source,
            column=tally.name,
        )
    why = f"{tally.distinct} different {'whole numbers' if whole else 'numbers'}"
    why += "." if whole else f" of at most {tally.decimals} decimals."
    if precision > finest:
        why += f" At most {MAX_STEPS:,} steps can be told apart, so steps of {_plain(precision)}."
    elif precision > 1:
        why += f" All are multiples of {_plain(precision)}."
    lines = [f'kind = "{"integer" if whole else "continuous"}"', f"low = {_plain(low)}"]
    lines += [f"high = {_plain(high)}", f"precision = {_plain(precision)}"]
    if codes:
        why += " Those below zero stand apart: taken for codes of 'no value'."
        lines.append(f"special = [{', '.join(f'{code:.0f}' for code in codes)}]")
    return why, lines


def _finest(tally: Tally) -> Decimal:
    """Return the step that the numbers are written in."""
    if tally.decimals:
        return Decimal(10) ** -min(tally.decimals, MAX_DECIMALS)
    zeros = len(str(tally.divisor)) - len(str(tally.divisor).rstrip("0"))
    return Decimal(10) ** zeros


def _codes(tally: Tally) -> list[float]:
    """Return the numbers below zero if there are few and each is 7s, 8s or 9s: -9, -99, -999."""
    found = sorted(tally.negatives)
    alike = all(re.fullmatch(r"-(7+|8+|9+)\.0", str(number)) for number in found)
    return found if alike and len(found) < MAX_NEGATIVES and tally.lowest_above < tally.high else []


def _steps(low: float, high: float, precision: Decimal) -> Decimal:
    return (_up(high, precision) - _down(low, precision)) / precision


def _down(value: float, step: Decimal) -> Decimal:
    return (Decimal(str(value)) / step).to_integral_value(ROUND_FLOOR) * step + 0


def _up(value: float, step: Decimal) -> Decimal:
    return (Decimal(str(value)) / step).to_integral_value(ROUND_CEILING) * step + 0


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def advice(tally: Tally) -> str:
    """Say how to go on without the column."""
    return f"or leave the column out with --drop {toml_text(tally.name)}"


def toml_text(value: str) -> str:
    """Write a TOML text, on one line whatever it holds."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
