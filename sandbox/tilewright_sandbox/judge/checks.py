"""The checks: each a function of the observations alone, knowing nothing of the others.

A FAIL's reason is the message of the verdict, and its facts hold a stable `code`. NOT_RUN says why; a mandatory one
blocks acceptance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from ..contract import Check, CheckName, TensorOutput
from ..twins import HALF
from .budget import Deviation, deviate, thresholds
from .ir import breaches, has_float_atomics
from .memory import input_changed, margin_written, reads_outside, unwritten, writes_input
from .observe import Observation, Observations
from .pattern import describe_pattern
from .transforms import TRANSFORMS

LEAST_OF_FLOOR = 0.9
WAITS = "griddepcontrol.wait"
"""The instruction behind Triton's gdc_wait, as it stands in TTIR."""
Facts = dict[str, bool | int | float | str]


def _not_run(name: CheckName, reason: str, *, mandatory: bool = True, **facts: bool | int | float | str) -> Check:
    return Check(name=name, status="NOT_RUN", mandatory=mandatory, reason=reason, facts=facts)


def _fail(name: CheckName, code: str, message: str, facts: Facts) -> Check:
    coded: Facts = {"code": code}
    return Check(name=name, status="FAIL", reason=message, facts=coded | facts)


def structure(seen: Observations) -> Check:
    """Shapes and dtypes as the reference gives them; no output shares memory with an input."""
    for one in seen.observed:
        expected = seen.oracle.expected(one.case)
        for declared, output, native in zip(seen.spec.outputs, one.outputs, expected.native, strict=True):
            where: Facts = {"case": one.case.label, "output": declared.name}
            if output.shape != native.shape:
                shapes = f"{tuple(output.shape)}, the spec says {tuple(native.shape)}"
                text = f"{declared.name} has shape {shapes} at {one.case.label}."
                return _fail("structure", "wrong_shape", text, where)
            if output.dtype != native.dtype:
                dtypes = f"{_name(output)}, the spec says {_name(native)}"
                text = f"{declared.name} is {dtypes} at {one.case.label}. Allocate it with the input's dtype."
                return _fail("structure", "wrong_dtype", text, where)
        for output_name, input_name in one.aliases.items():
            text = f"{output_name} shares memory with the input {input_name}. Allocate a tensor for every output."
            return _fail("structure", "aliases_input", text, {"case": one.case.label, "output": output_name})
    return Check(name="structure", status="PASS", facts={"cases": len(seen.observed)})


def memory(seen: Observations) -> Check:
    """Nothing outside a buffer is written or read, inputs stay as they are, outputs are written whole."""
    pairs = 0
    for one in seen.observed:
        twin = seen.at(one.case.twin_of) if one.case.group == "memory" and one.case.twin_of else None
        finding = margin_written(seen.spec, one) or input_changed(one)
        if finding is None and one.case.group != "determinism":  # whose outputs may hang on the order of programs
            finding = unwritten(seen.spec, one)
        if finding is None and twin is not None:
            pairs += 1
            finding = reads_outside(seen.spec, twin, one)
            if finding is not None and _order_dependent(seen) and not any(_off(seen, run) for run in (twin, one)):
                finding = None  # sums in whatever order: the bits differ, and both runs are within the budget
        if finding is not None:
            return _fail(
                "memory", finding.code, f"{finding.message} Seen at {one.case.label}.", {"case": one.case.label}
            )
    if (finding := writes_input(seen)) is not None:
        return _fail("memory", finding.code, finding.message, {})
    return Check(name="memory", status="PASS", facts={"cases": len(seen.observed), "poisoned_twice": pairs})


def _order_dependent(seen: Observations) -> bool:
    return any(has_float_atomics(text) for text in seen.ttir.values())


def _off(seen: Observations, one: Observation) -> bool:
    limit = thresholds().element_otherwise
    return any(_deviation(seen, one, place, limit).count for place in range(len(seen.spec.outputs)))


def determinism(seen: Observations) -> Check:
    """Equal bits from run to run: a gate only where the spec asks for it; the class is reported always. And outputs
    within the budget whichever program runs first, which is a gate always."""
    repeats = seen.of("determinism")
    if seen.programs_wait:
        reason = (
            "run does not end when the last program runs first: programs wait for earlier ones, as on a device only"
        )
        return _not_run("determinism", reason)
    if not repeats:
        return _not_run("determinism", "no case was run twice")
    differing = seen.order_dependent()
    for one, first in differing:
        if one.case.program_order != "forward" and (wrong := _order_of_programs(seen, first, one)):
            return wrong
    if differing:
        label = differing[0][0].case.label
        return _class(seen, "order-dependent", f"two runs on the same inputs differ at {label}")
    if any(has_float_atomics(text) for text in seen.ttir.values()):
        return _class(seen, "order-dependent", "a kernel adds floats atomically, in whatever order programs arrive")
    return _class(seen, "bitwise", "")


def _order_of_programs(seen: Observations, first: Observation, last_first: Observation) -> Check | None:
    """FAIL where an output is right when programs run in order, and wrong when the last one runs first."""
    limit, norm = _limit(seen, last_first), thresholds().norm
    for place, declared in enumerate(seen.spec.outputs):
        deviation = _deviation(seen, last_first, place, limit)
        in_order = _deviation(seen, first, place, limit)
        if (not deviation.count and deviation.norm_c <= norm) or in_order.count or in_order.norm_c > norm:
            continue
        facts: Facts = {"case": last_first.case.label, "output": declared.name, "wrong": deviation.count}
        where = f" ({describe_pattern(deviation.wrong, declared.shape)})" if deviation.count else ""
        text = (
            f"{deviation.count} of {deviation.wrong.numel()} elements of {declared.name}{where} hang on the order in "
            f"which programs run: they are right in order, and wrong when the last program runs first "
            f"({first.case.label}). A device runs programs in any order: let none read or overwrite what another "
            "writes."
        )
        return _fail("determinism", "order_of_programs", text, facts)
    return None


def _class(seen: Observations, kind: str, why: str) -> Check:
    if kind != "bitwise" and seen.spec.accept.deterministic:
        text = f"The spec asks for equal bits from run to run, but {why}. Add in a fixed order."
        return _fail("determinism", "order_dependent", text, {"class": kind})
    facts: Facts = {"class": kind, "why": why} if why else {"class": kind}
    return Check(name="determinism", status="PASS", facts=facts)


def budget(seen: Observations) -> Check:
    """Error constants on the base shape."""
    return _within_budget("budget", seen, seen.of("budget"))


def transforms(seen: Observations) -> Check:
    """The error budget on hostile inputs."""
    cases = seen.of("transforms")
    if not cases:
        return _not_run(
            "transforms",
            "the domain of the inputs excludes every transform",
            mandatory=False,
            **_notes(seen, "transforms"),
        )
    return _within_budget("transforms", seen, cases)


def shapes(seen: Observations) -> Check:
    """The error budget on hidden shapes, edges of domain and blocks, and layouts."""
    if seen.notes.get("shapes_run") == 0:
        notes = _notes(seen, "shapes")
        # a device counts neither: every small shape fits there, so that WHERE alone excludes
        infeasible, slow = notes.get("shapes_infeasible", 1), notes.get("shapes_too_slow", 0)
        if infeasible and not slow:
            text = "WHERE excludes every shape that was drawn from the spec's domain. Widen it."
            return _fail("shapes", "no_feasible_shape", text, notes)
        excluded = f"; WHERE excludes {infeasible} more" if infeasible else ""
        reason = f"too slow under the interpreter: {slow} shapes{excluded}" if slow else "the interpreter runs none"
        return _not_run("shapes", reason, mandatory=True, **notes)
    cases = seen.of("shapes")
    if not cases:
        return _not_run("shapes", "no shape was run")
    check = _within_budget("shapes", seen, cases)
    if check.status == "PASS" and seen.unchecked:
        reason = f"not compared with an oracle: {', '.join(seen.unchecked[:4])}"
        return Check(name="shapes", status="NOT_RUN", reason=reason, facts=check.facts)
    return check


def timed_outputs(seen: Observations, timed: Sequence[Observation]) -> Check:
    """The error budget on outputs that were written while the clock ran."""
    return _within_budget("budget", seen, timed)


def _within_budget(name: CheckName, seen: Observations, cases: Sequence[Observation]) -> Check:
    limits = thresholds()
    worst_c, worst_norm, worst_case = 0.0, 0.0, ""
    for one in cases:
        limit = _limit(seen, one)
        for place, declared in enumerate(seen.spec.outputs):
            deviation = _deviation(seen, one, place, limit)
            if deviation.count or deviation.norm_c > limits.norm:
                return _wrong(name, seen, one, place, declared, deviation)
            worst_norm = max(worst_norm, deviation.norm_c)
            if deviation.worst_c >= worst_c:
                worst_c, worst_case = deviation.worst_c, one.case.label
    facts: Facts = {
        "cases": len(cases),
        "worst_c": round(worst_c, 3),
        "worst_norm_c": round(worst_norm, 3),
        "case": worst_case,
    }
    return Check(name=name, status="PASS", facts=facts | _notes(seen, name))


def _limit(seen: Observations, one: Observation) -> float:
    """The largest c of an element."""
    walks = seen.oracle.expected(one.case).linear and one.case.mean_zero
    return thresholds().element_mean_zero if walks else thresholds().element_otherwise


def _deviation(seen: Observations, one: Observation, place: int, limit: float) -> Deviation:
    expected = seen.oracle.expected(one.case)
    exact, output = expected.exact[place], one.outputs[place]
    compare = None
    transform = TRANSFORMS.get(one.case.draw)
    if exact.is_floating_point():
        # where the reference in its own dtype overflows and the oracle does not, it does not say what is right
        compare = expected.native[place].isfinite() | ~exact.to(output.dtype).isfinite()
        if transform is not None and transform.infinite:
            compare &= ~exact.isnan()
    return deviate(output, exact, expected.spread[place], expected.half_spacing[place], limit, compare)


def _wrong(
    name: CheckName, seen: Observations, one: Observation, place: int, declared: TensorOutput, deviation: Deviation
) -> Check:
    exact = seen.oracle.expected(one.case).exact[place]
    facts: Facts = {
        "case": one.case.label, "output": declared.name, "worst_c": deviation.worst_c, "norm_c": deviation.norm_c,
        "wrong": deviation.count, "elements": deviation.wrong.numel(),
    }  # fmt: skip
    if not deviation.count:
        text = (
            f"{declared.name} is off as a whole: its error is {deviation.norm_c:.3g} times what honest rounding gives, "
            f"though no single element is out of bounds. Seen at {one.case.label}."
        )
        return _fail(name, "biased", text, facts)
    first = deviation.first
    got, want = one.outputs[place][first].item(), exact[first].item()
    pattern = describe_pattern(deviation.wrong, declared.shape)
    at = f"{declared.name}{list(first)}" if first else declared.name
    text = (
        f"{at} is {_figure(got)} and should be {_figure(want)}: {_times(deviation.worst_c)} "
        f"Wrong: {deviation.count} of {deviation.wrong.numel()} elements, {pattern}. Seen at {one.case.label}."
    )
    return _fail(
        name,
        "wrong_values",
        text,
        facts | {"first": str(list(first)), "got": got, "expected": want, "pattern": pattern},
    )


def _times(c: float) -> str:
    if c == float("inf"):
        return "no error budget bridges that."
    return f"the largest error is {c:.3g} times what honest rounding gives."


def lattice(seen: Observations) -> Check:
    """Bit equality on integers whose sums are exact in any order."""
    cases = seen.of("lattice")
    if not cases:
        reason = "the reference is not a sum of products of its inputs, or the lattice is outside their domain"
        return _not_run("lattice", reason, mandatory=False)
    compared = 0
    for one in cases:
        exact, masks = seen.oracle.expected(one.case).exact, seen.oracle.exact_mask(one.case)
        for declared, output, true, mask in zip(seen.spec.outputs, one.outputs, exact, masks, strict=True):
            compared += int(mask.sum())
            wrong = (output != true.to(output.dtype)) & mask
            if bool(wrong.any()):
                first = tuple(int(i) for i in wrong.nonzero()[0])
                got, want = output[first].item(), true.to(output.dtype)[first].item()
                pattern = describe_pattern(wrong, declared.shape)
                text = (
                    f"{declared.name}{list(first)} is {_figure(got)} and should be exactly {_figure(want)}: on small "
                    f"integers every order of summation in float32 gives the same bits. "
                    f"Wrong: {int(wrong.sum())} of {wrong.numel()} elements, {pattern}. "
                    f"Seen at {one.case.label}. Accumulate in tl.float32 and round once, at the store."
                )
                facts: Facts = {
                    "case": one.case.label, "first": str(list(first)), "got": got, "expected": want,
                    "wrong": int(wrong.sum()), "elements": wrong.numel(), "pattern": pattern,
                }  # fmt: skip
                return _fail("lattice", "not_exact", text, facts)
    return Check(name="lattice", status="PASS", facts={"cases": len(cases), "elements": compared})


def gradients(seen: Observations) -> Check:
    asked = ", ".join(seen.spec.accept.grad)
    reason = f"gradients ({asked}) are not captured into plans" if asked else "the spec asks for none"
    return _not_run("gradients", reason, mandatory=bool(asked))


def ir(seen: Observations) -> Check:
    """Dot precision, accumulators and down-casts in the TTIR of every kernel of every plan."""
    if not seen.ttir:
        return _not_run("ir", "no compiled plan was given")
    half_inputs = any(tensor.dtype in HALF or tensor.dtype.startswith("float8") for tensor in seen.spec.tensor_inputs)
    names = {kernel.ttir_sha256: kernel.name for plan in seen.plans for kernel in plan.kernels}
    early = {k.ttir_sha256 for plan in seen.plans for k in plan.kernels if k.launch_pdl}
    dots = sums = 0
    for sha256, text in seen.ttir.items():
        if sha256 in early and WAITS not in text:
            message = (
                f"Kernel {names[sha256]} asks to start before its predecessor has ended (launch_pdl) and never waits "
                "for it: call gdc_wait() before the first load, or leave launch_pdl out."
            )
            return _fail("ir", "starts_early", message, {"kernel": names[sha256]})
        dots += text.count("= tt.dot ")
        sums += text.count('= "tt.reduce"') + text.count('= "tt.scan"')
        found = breaches(text, names[sha256], allow_tf32=seen.spec.accept.precision == "tf32", half_inputs=half_inputs)
        if found:
            return _fail("ir", found[0].code, found[0].message, {"kernel": names[sha256], "breaches": len(found)})
    return Check(name="ir", status="PASS", facts={"kernels": len(seen.ttir), "dots": dots, "reductions": sums})


def physics(seen: Observations) -> Check:
    """No time is under what memory allows for the bytes that the spec says must move."""
    if not seen.times:
        return _not_run("physics", "no time was measured")
    facts: Facts = {}
    for time in seen.times:
        floor_us = seen.floors_us[time.workload.label]
        facts[f"of_roofline {time.workload.label}"] = round(time.roofline_us / time.median_us, 3)
        if time.median_us < LEAST_OF_FLOOR * floor_us:
            text = (
                f"{time.median_us:.1f} µs at {time.workload.label} is less than the {floor_us:.1f} µs that this card's "
                "memory needs for the bytes that must be read and written. Work is left out, or the cache holds it."
            )
            return _fail("physics", "faster_than_memory", text, {"median_us": time.median_us, "floor_us": floor_us})
    return Check(name="physics", status="PASS", facts=facts)


CHECKS: dict[CheckName, Callable[[Observations], Check]] = {
    "structure": structure, "memory": memory, "determinism": determinism, "budget": budget, "lattice": lattice,
    "transforms": transforms, "shapes": shapes, "gradients": gradients, "ir": ir, "physics": physics,
}  # fmt: skip


def _notes(seen: Observations, name: str) -> Facts:
    return {key: value for key, value in seen.notes.items() if key.startswith(f"{name}_")}


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _figure(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
