# The language of kpsim's scenarios, as stubs in Python's form. Made from the language's rows by
# go test ./internal/scenario/lang -run Editors -update-editors
from typing import Any, Literal, Self, Sequence

class Place:
    """A place in memory: f + 4 is one, too. Where a number is wanted it is its address."""
    def __add__(self, n: int) -> Self: ...
    def __radd__(self, n: int) -> Self: ...
    def __sub__(self, n: int) -> Self: ...
class Object:
    """An object file: o.f, or o["f.part.0"], is its function f, o.counter its data."""
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
class Step: ...
class Op: ...
class Written: ...
class _Both(Op, Step): ...
class Function(Place): ...
class Data(Place): ...
class Alias(Place): ...
class Probe: ...
class Label: ...
class Module: ...
class Fprobe: ...
class Program: ...
class StaticCall: ...
Word = int | Place
Hex = str | bytes | Sequence[int | str]
Errno = Literal[0, "ENOENT", "E2BIG", "EAGAIN", "ENOMEM", "EBUSY", "EEXIST", "ENODEV", "EINVAL", "ENOSPC", "ENOSYS", "EILSEQ", "EOPNOTSUPP"] | None

def scenario(name: str | None = None, says: str = "", needs: Literal["nothing", "interrupt"] = "nothing") -> None:
    """`name` is the scenario's (by default the file's), `says` a sentence that says what it shows; `needs`: what shrinking a violation must keep: `"interrupt"`, see below"""
    ...

def machine(cpus: int = 2, preempt: Literal["none", "voluntary", "dynamic", "full", "lazy"] = "none", fetch: Literal["coherent", "stale", "mixing"] = "coherent", edition: Literal["2.6", "4.15", "5.14", "6.5", "6.9", "documented"] | None = None, quiesce: Literal["none", "sched", "rcu", "tasks", "stack-check"] = "none", patch: Literal["breakpoint", "stop_machine", "naive", "naive-tail-first", "whole"] = "breakpoint", removed_int3: bool = False, rules: Literal["6.9", "6.5", "5.14", "4.15", "2.6"] = "6.9", boundaries: Literal["checked", "any"] = "checked", step: Literal["int3", "debug"] = "int3", boost: Literal["never", "prepare", "stepped"] = "never", returns: Literal["objpool", "rethook", "freelist", "hashed", "global"] = "objpool", old_trampoline: bool = False, maxactive: Literal["always", "preemption"] = "always", data_max: Literal["any", "4096"] = "any", unwind: bool = False, fault_handlers: bool = False, jprobes: bool = False, batches: bool = True, optprobes: bool = True, order: Literal["text", "module", "step"] = "text", batch: Literal["all", "256"] = "all", save_ss: bool = False, detour_irqs_off: bool = False, unoptimize: Literal["as-patched", "breakpoint", "patcher"] = "as-patched", sync_arm: bool = True, sync_copies: bool = False, ftrace: bool = False, ftrace_modifies: bool = False, module_refs: bool = False, files: Literal["bool", "char", "plain", "first"] = "bool", int3_count: Literal["nmi", "twice", "once"] = "nmi", nmi_latch: bool = True, retpoline: bool = False, ibt: bool = False, config: str | None = None, profile: str | None = None, arch: Literal["x86-64", "i386", "riscv64", "arm64", "ppc64le"] = "x86-64", modules: Literal["unload", "stay", "none"] = "unload", steps: int = 0, engine: Literal["kprobes", "linux"] = "kprobes", memory: Literal["sc", "tso", "lkmm"] = "sc", fred: bool = False, late_int3: bool = False, nohz: bool = False, ftrace_trampolines: Literal["shared", "own"] | None = None, ftrace_stubs: bool = False, stall: int = 0, offline: int | Sequence[int] = []) -> None:
    """the machine and its kernel: its settings have the next table of docs/scenarios.md

    cpus: 1 to 64 CPUs

    preempt: `"none"`; `"voluntary"`: `might_sleep` schedules as `cond_resched` does; `"dynamic"`: built with preemption, run as voluntary; `"full"`; `"lazy"`: a task that wants the CPU gets it at a timer tick. `cond_resched` schedules under the first two; under `"dynamic"` it preempts, which `quiesce = "tasks"` doesn't count; under the last two it does nothing. Whether the kernel is built with preemption decides RCU's flavour and much of what an edition presets; the mode decides when tasks switch

    fetch: what a CPU fetches from text that changes: the newest bytes; `"stale"`: old ones until it serialises; `"mixing"`: old and new bytes in one instruction

    edition: presets everything below as in the kernels of one document: `"2.6"`, `"4.15"`, `"5.14"`, `"6.5"`, `"6.9"`, `"documented"`; `kpsim editions` prints the table. Settings given beside it take precedence

    quiesce: what the optimizer waits for before it writes a jump: nothing; `"sched"`: every CPU schedules; `"rcu"`: a grace period; `"tasks"`: every task schedules voluntarily; `"stack-check"`: the machine is stopped, and no stack shows a task inside the region

    patch: how a jump is written: int3 first; `"stop_machine"`; `"naive"`: plain stores, the head byte first; `"naive-tail-first"`. It applies to jump labels and static calls, too; ftrace always writes an int3 first. On riscv64 and arm64 it is how a jump label is written: `"whole"`, which is the default there: stores as large as the address allows, and one sync of all CPUs after the last site; or `"stop_machine"`

    removed_int3: kprobes handles a trap whose breakpoint is gone (kernels until 6.2)

    rules: whose rules say what can be probed, boosted and optimized: also `"6.5"`, `"5.14"`, `"4.15"`, `"2.6"`

    boundaries: `"any"`: a probe may be anywhere in an instruction (2.6)

    step: how the end of a copied instruction is noticed: a breakpoint after it; `"debug"`: the trap flag (until 5.12)

    boost: when the jump after a copy is written, which saves the step, built without preemption: `"prepare"`: with the copy; `"stepped"`: when the copy has run once (until 5.12). In 2.6 i386 has the second

    returns: how return probes keep track of calls: a per-CPU array; `"rethook"`: a lock-free list; `"freelist"`: the same, and a list per task; `"hashed"`: a table with a lock per bucket; `"global"`: one table with one lock, and a probe as the trampoline

    old_trampoline: with `returns = "global"` a probe is the trampoline on i386, too (until 2.6.16); otherwise the trampoline there is code

    maxactive: the default of `maxactive`: max(10, 2 CPUs); `"preemption"`: without preemption the number of CPUs (until 6.0)

    data_max: the most private data that a return probe may have; `"4096"` (5.16 and later)

    unwind: backtraces see through the trampoline of return probes (5.15 and later)

    fault_handlers: probes have fault handlers (until 5.13)

    jprobes: there are jprobes (until 4.14)

    batches: arrays of probes can be registered, probes disabled and enabled (not in 2.6)

    optprobes: a breakpoint may become a jump (CONFIG_OPTPROBES; not in 2.6)

    order: which locks the optimizer holds while it waits: cpus_read_lock and text_mutex; `"module"`: text_mutex, for each step only (4.15 to 5.2); `"step"`: neither (until 4.12)

    batch: the most jumps that one run of the optimizer writes or removes; `"256"`: as long as text_poke_smp_batch wrote them

    save_ss: detours save ss with the other registers (5.10 and later)

    detour_irqs_off: handlers behind a detour run with interrupts off (until 4.14)

    unoptimize: how a jump is removed: `"breakpoint"`: through a breakpoint, with syncs (5.6 and later); `"patcher"`: as it was written; by default the first if `patch` is `"breakpoint"`

    sync_arm: every CPU is synchronized after a breakpoint is written; kernels until 5.5 don't do that

    sync_copies: every CPU is synchronized after a slot or a detour is written; no kernel does so. With `fred = True` nothing else keeps a CPU from running what was there before

    ftrace: a probe at a function's fentry goes through ftrace

    ftrace_modifies: every such probe declares that it may change the path, not only those with a post_handler (until 5.3)

    module_refs: a probe holds its module until it is unregistered (2.6)

    files: what the files of debugfs take and print: `"char"`: as until 5.15; `"plain"`: as until 4.17; `"first"`: as in 2.6

    int3_count: what a breakpoint's handler finds in `__preempt_count`: as in an NMI's (5.8 and later); `"twice"`: preemption disabled twice, and once while an instruction is stepped (4.0 to 4.18); `"once"`: once

    nmi_latch: an NMI that arrives during an NMI's handler waits for its end (3.3 and later); without this, the return from a breakpoint there lets the next one in

    retpoline: built with CONFIG_RETPOLINE: there are no jump tables, but jumps to thunks (`__x86_indirect_thunk_…`), and the rules of probing go by that

    ibt: built with CONFIG_X86_KERNEL_IBT: functions begin with endbr64, and a probe at one goes behind it (5.18 and later)

    config: the argument of `kpsim check --config`: some of `"PREEMPTION,RETPOLINE,IBT,FTRACE"`, or `"none"`, or `"OPTPROBES=n"`. It sets `retpoline`, `ibt`, `ftrace` and `optprobes`, and without an edition `boost = "prepare"`; with PREEMPTION `preempt` is `"dynamic"` by default. So one object is judged by one configuration

    profile: the argument of `kpsim check --profile`, `"k61"` or `"k612"`: the edition of that recorded kernel and its `config`

    arch: what the kernel is built for. `"i386"`: functions are 32-bit code, with arguments in eax, edx and ecx, and per-CPU data at fs. `"riscv64"`, `"arm64"` and `"ppc64le"`: functions and patchers, jump labels, sites of ftrace, kprobes and return probes, without the rest of the kernel's own patching, but that probes of `"ppc64le"` become jumps; Processors says what each executes. It must come before functions and data

    modules: modules are loaded and unloaded; `"stay"`: no CONFIG_MODULE_UNLOAD; `"none"`: no CONFIG_MODULES. A missing call answers `ENOSYS`

    steps: how many boundaries one run may have; 0: the default

    engine: the engine that inserts the probes. Engines other than `"kprobes"` have none of the settings from `edition` to `profile` but `patch`

    memory: the order in which other CPUs see a CPU's accesses to data: as they are made; `"tso"`: x86's, where stores wait in a store buffer; `"lkmm"`: the kernel's memory model, only for the cells of the kernel and the engine. The memory models says what each promises

    fred: CPUs return from traps and interrupts with FRED's ERETS, which doesn't serialise as IRET does: a CPU may fetch old bytes for longer. It makes a difference where `fetch` isn't `"coherent"`

    late_int3: the trap of a breakpoint may come late: before its handler runs, the CPU takes IPIs and interrupts, as under an emulator. By then the breakpoint may be gone, with all syncs done

    nohz: an idle CPU with nothing to run gets no timer tick: `timer(idle = True)` fires there only when a task wants the CPU

    ftrace_trampolines: which of ftrace's trampolines are text: a task executes it instruction by instruction and may be preempted in it, and its call is patched. None is: the trampoline calls the clients in its first step. `"shared"`: there is one, as in kernels until 3.18; `"own"`: each client has one, too, which a site calls that only this client wants, as is a kernel's own ftrace, which runs then. It is made when the client is registered, and freed, if the client isn't kprobes', when it is unregistered and all tasks have given their CPUs up

    ftrace_stubs: calls of ftrace stand out of line, on ppc64le, as since 6.13 (CONFIG_PPC_FTRACE_OUT_OF_LINE): the compiler leaves one nop, which becomes a branch to the site's stub while a client wants the calls, and the call stands in the stub

    stall: a grace period that has lasted this many cycles is reported at the next tick, as the kernel does after 21 s, and breaks `no-stall`; 0: none is reported. A grace period's age is counted in cycles that CPUs spend: of the CPUs with something to do, by the one that has spent the fewest. Ticks come from a `timer()`, which the scenario must have. Such a scenario can't be proved: clocks are no part of a state

    offline: the CPUs that are offline when a run begins, as `[2]`, but never the first. A task on one of them begins when the CPU comes online, so the scenario needs an operation `online(2)`. Such a CPU has never been sent a sync"""
    ...

def text(name: str, hex: Hex, at: Word | None = None, size: int | None = None, extable: int | Sequence[int] = []) -> Function:
    """a function by its bytes: pairs of digits, with blanks and `#` comments between them, or pasted output: `0x55, 0x48`, `b"\\x55\\x48"`, `[0x55, 0x48]`, lines of `objdump -d`, gdb's `disassemble /r` or `x/16xb`, `xxd`, `hexdump -C` or `kpsim check --func`, `.byte 0x55, 72`. `size` is only checked. `extable`: offsets of instructions that have an exception-table entry"""
    ...

def code(name: str, hex: Hex = "", size: int | None = None, at: Word | None = None, mapped: bool = True) -> Function:
    """memory for code, in pages of its own, that tasks `map`, `write`, run and `free`, as a JIT's or a trampoline's: these bytes, and breakpoints up to `size`. It is a function in all other respects. `mapped = False`: it isn't there when a run begins"""
    ...

def data(name: str, hex: Hex = "", at: Word | None = None, size: int | None = None, away: bool = False, run: Function | None = None) -> Data:
    """writable memory: these bytes, and zeros up to `size`. `away`: it is paged out when a run begins: a task that accesses it sleeps in the page fault until it is in memory. It takes whole pages. `run`: a function that the handler of such a fault calls, with interrupts off, before it asks kprobes"""
    ...

def percpu(name: str, hex: Hex = "", at: Word | None = None, size: int | None = None) -> Data:
    """per-CPU memory: each CPU has a copy, found through `gs`; the address itself isn't mapped. `expect` reads the copy of the task's CPU"""
    ...

def alias(name: str, f: Function, at: Word | None = None) -> Alias:
    """the text of `f` mapped a second time, writable, as a JIT or a hook maps it: a patcher that is compiled code stores there, and so to `f`. Give it as an argument, `call(o.patch, w)`, or let an object below refer to it by its name. A load or a store outside of `f`'s bytes, up to the next multiple of 8, faults. A store within 8 aligned bytes is one step, another one two; a locked instruction is one. What the text is when the patcher next calls a routine of the kernel, returns, serialises, waits with `pause`, or stores to a byte again, is right; a CPU that runs something between breaks T1"""
    ...

def elf(file: str, at: Word | None = None) -> Object:
    """all functions and data of a `.o` file: `o.f`, `o["f.part.0"]`, `o.counter`, `o[".data"]`. Its references are looked up among the functions and data above it, then among the kernel's exports: `cond_resched`, `cond_resched_tasks_rcu_qs`, `do_exit`, which ends the program that calls it, `jprobe_return`, and what a patcher calls (`membarrier`, `mprotect`, `__clear_cache`, `sched_yield`, `sync_core`, `text_poke_sync`, `smp_text_poke_sync_each_cpu`, `synchronize_rcu`, `synchronize_rcu_tasks`, `synchronize_rcu_tasks_rude`, `wait_for_completion`, `syscall`; what each does). For a kernel module, a `.ko` file: only the named functions, and those that they refer to; its text is patched as a kernel patches it while loading"""
    ...

def stub(name: str, returns: Word = 0, fill: tuple[int, Hex] | None = None, calls: Function | str | None = None) -> Function:
    """a stand-in for one of the kernel's functions, for objects below it. `fill = (1, "00ff")`: it stores these bytes where its first argument points to; then it returns the number `returns`, or continues in the function `calls`, or in one that the kernel exports: `calls = "do_exit"`"""
    ...

def missing(name: str, at: Word, size: int = 4096) -> None:
    """an undefined symbol that a module refers to: `elf()` makes them. A run that calls it, or reads there, ends in an error that names it. It takes whole pages"""
    ...

def insns(f: Function) -> list[int]:
    """the offsets of a function's instructions, for loops: `[0, 1, 4]`"""
    ...

def kprobe(name: str, at: Function | None = None, offset: int = 0, pre: Sequence[Step] | None = [count()], post: Sequence[Step] | None = None, fault: Sequence[Step] | None = None, symbol: str | None = None, disabled: bool = False) -> Probe:
    """a probe at `at + offset`, not yet registered. `pre` runs before the probed instruction, `post` after it; each is a list of steps, `None` is no handler. `fault` runs when a handler or the copied instruction faults (2.6, 4.15). `symbol`: a name that the kernel looks up, instead of `at` or, as a mistake that it must refuse, beside it. `disabled`: it is registered disabled"""
    ...

def kretprobe(name: str, at: Function | None = None, handler: Sequence[Step] | None = [count()], entry: Sequence[Step] | None = None, maxactive: int = 0, data_size: int = 0, symbol: str | None = None, offset: int = 0, disabled: bool = False) -> Probe:
    """a return probe: `handler` runs where a call has returned, `entry` where it begins; `maxactive` calls at a time are followed (0: the edition's default), each with `data_size` bytes of private data for the two handlers. 2.6 has neither `entry` nor `data_size`"""
    ...

def jprobe(name: str, at: Function | None = None, entry: Function | Sequence[Step] | None = None, symbol: str | None = None, offset: int = 0, disabled: bool = False) -> Probe:
    """a jprobe (2.6): `entry` runs first, with the arguments of the function at `at`. It is a function that ends in `jprobe_return`, such as `stub("e", calls = "jprobe_return")`, or a list of steps"""
    ...

def jump_label(name: str, at: Function | Sequence[Function], target: Function | Sequence[Function], offset: int = 0, toff: int = 0, likely: bool | Sequence[bool] = False) -> Label:
    """a static key: the instruction at `at + offset` is a nop and, while the key is on, a jump to `target`, or `toff` bytes after it. With a `likely` branch it is the jump while the key is off. The text says what the key is at first: the nop `0f1f440000`, or `e9…`, the jump. Sites of two bytes (5.14) are `6690` or `eb…`. Sites of riscv64 are `00000013` or a `jal` that links nothing; those of arm64 `d503201f` or a `b`, those of ppc64le `60000000` or a `b`. A key may have several sites: `at = [f, g]`, with a target each, or one for all; `likely` is `True`, or a list, too"""
    ...

def module(name: str, funcs: Sequence[Function], init_funcs: Sequence[Function] = [], data: Sequence[Data] = [], init: Function | None = None, exit: Function | None = None, loaded: bool = False) -> Module:
    """`funcs` are in memory while the module is loaded, in pages of their own (`at`); `loaded`: it is loaded when a run begins; the function `init` runs when it is loaded, `exit` when it is unloaded; `init_funcs` are freed when `init` has returned 0, and lie in pages of their own, too. `data` is loaded with it, with its `hex` each time; an access after the module was unloaded is a use after free"""
    ...

def fentry(at: Function) -> None:
    """ftrace's site: the 5-byte nop at a function's beginning, or after its endbr64, that becomes a call while a client wants it; elsewhere eight bytes of nops, on arm64 also after `bti c`. With `machine(ftrace = True)` a probe there goes through it. On a machine with ftrace or a `tracer()` an object's calls of `__fentry__` are such sites automatically"""
    ...

def fprobe(name: str, funcs: Sequence[Function], entry: Function | None = None, exit: Function | None = None, skips: bool = False, maxactive: int = 0, data: Sequence[Data] = []) -> Fprobe:
    """an fprobe (5.18), not yet registered: a client of ftrace for the functions `funcs`, each of which needs a site. The function `entry` is called where a call of one begins, `exit` where it has returned. `skips` (6.3): if the result of `entry`, an int, isn't 0, `exit` isn't called. `maxactive`: how many calls are followed at a time, 4 by default; others are missed. `data = [d]`: each call that is followed has an equal part of `d`, to which the fifth argument of both points (`entry_data`)"""
    ...

def bpf(name: str, f: Function, run: Function, kind: Literal["fentry", "fmod_ret", "fexit"] = "fentry") -> Program:
    """a BPF program, not yet attached, for the function `f`, which needs a site of ftrace. `run` is the function that it is: its argument points to the six arguments of the call and, after them, to its result. `kind`: `"fentry"`, called where a call begins; `"fmod_ret"`, likewise, and if its result isn't 0 `f` isn't called, and that is the call's result; `"fexit"`, called where `f` has returned. A function's programs are called by an image of its BPF trampoline, of which each change makes another one (since 5.5, as since 5.12). A program that the CPU runs already is left out"""
    ...

def lock_prefix(at: Function) -> None:
    """the instruction at `f`, or `f + 4`, begins with a lock prefix (`f0`), which alternatives remove while only one CPU is online. No jump covers it"""
    ...

def alternative(at: Function, hex: Hex) -> None:
    """the instruction at `f`, or `f + 4`, which `apply_alternatives()` replaces by another one of the same length, as boot does if the processor has a feature"""
    ...

def reserved(at: Function, by: Literal["bug", "jump label", "static call", "blacklist"], size: int | None = None) -> None:
    """a place in a table of the kernel, where kprobes refuses or restricts probes: `by` is `"bug"`, the ud2 of a BUG or WARN; `"jump label"` or `"static call"`, a site that isn't patched in this scenario, with its `size` in bytes; or `"blacklist"`, in a function that refuses probes. `elf()` adds those in the object's tables"""
    ...

def static_call(name: str, sites: Sequence[Function] = [], tails: Sequence[Function] = [], trampoline: Function | None = None, target: Function | None = None) -> StaticCall:
    """a call whose target is patched: 5-byte nops `0f1f440000` at `sites` that become calls, and `c3cccccccc` at `tails`, a ret that becomes a jump; with a `target` they are calls of it and jumps to it already. `trampoline` is a function that is only such a tail, for callers without a site"""
    ...

def count() -> Step:
    """count a hit"""
    ...

def set_reg(reg: str, value: Word) -> Step:
    """write `value` to the saved register `reg`, `"rax"` to `"r15"`"""
    ...

def set_ip(address: int | Function) -> Step:
    """continue at `address`, a place in a function or a number"""
    ...

def nonzero() -> Step:
    """the handler returns 1. From an `entry`: this call isn't followed; from a `fault`: the fault is handled"""
    ...

def store(d: Data, value: Word) -> Step:
    """write the eight bytes of `value` to `d`, a place in data"""
    ...

def save(reg: str) -> Step:
    """for a return probe with `data_size` of at least 8: store the saved register `reg` in the private data of the call"""
    ...

def restore(reg: str) -> Step:
    """for a return probe as for `save`: read `reg` from the private data"""
    ...

def sleep() -> Step:
    """give up the CPU, which no handler may do. `register(k)`, `unregister(k)`, `enable(k)` and `disable(k)` do so, too"""
    ...

def read_context() -> Step:
    """read the preemption count and the interrupt flag, which must be as when the handler began, also after a `call` that hits other probes"""
    ...

def task(name: str | None = None, cpu: int = 0, ops: Sequence[Op] = [], repeat: int = 1, background: bool = False, setup: int = 0) -> None:
    """a kernel thread on a CPU that does `ops`, `repeat` times; `background`: it doesn't repeat once all other tasks have ended; `setup`: with a kernel's own engine, whose state can be kept, this number of `ops` runs before any task begins; with kpsim's engine they are the task's first"""
    ...

def call(f: Function, *args: Word, changed: bool = False, returns: Word | Sequence[Word] | None = None, bits: int = 64, probed: bool = False) -> _Both:
    """call `f` with up to six numbers, `args`. `changed`: probes or labels change its result on purpose, so it isn't compared. `returns`: the right result, in the low `bits` of `rax`, or a list of those that are right. `probed`: in each schedule a handler of a probe runs in the call. As a step, `call(f)`: the handler calls `f`"""
    ...

def expect(d: Data, hex: Hex, probed: bool = False) -> Op:
    """memory from `d` on holds these bytes; `d + 8` is a place in `d`. `probed`: with probes, whose handlers have stored there; the run without probes must hold other bytes there, or nothing would tell that something was probed"""
    ...

def hits(k: Probe | str, pre: int | None = None, post: int | None = None, missed: int | None = None) -> Op:
    """until now the `pre` handler of `k` has begun this often in the run, its `post` handler, and its `nmissed` is `missed`; of a return probe: its entry handler, and its handler of returns. What isn't given isn't compared"""
    ...

def register(k: Probe | str, errno: Errno = None) -> _Both:
    """call the kernel's function of this name. It may refuse, which `explore` counts. `errno`: the answer that it must give, 0 or one of `"ENOENT"`, `"E2BIG"`, `"EAGAIN"`, `"ENOMEM"`, `"EBUSY"`, `"EEXIST"`, `"ENODEV"`, `"EINVAL"`, `"ENOSPC"`, `"ENOSYS"`, `"EILSEQ"`, `"EOPNOTSUPP"`"""
    ...

def unregister(k: Probe | str, errno: Errno = None) -> _Both:
    """as `register`. A probe that is made further down is given by its name: `unregister("k")`"""
    ...

def enable(k: Probe | str, errno: Errno = None) -> _Both:
    """likewise"""
    ...

def disable(k: Probe | str, errno: Errno = None) -> _Both:
    """likewise"""
    ...

def register_all(ks: Sequence[Probe | str], errno: Errno = None) -> Op:
    """`register` for a list, of kprobes or of kretprobes: if one can't be registered, none is"""
    ...

def unregister_all(ks: Sequence[Probe | str], errno: Errno = None) -> Op:
    """`unregister` for a list; one grace period for all"""
    ...

def wait_optimized() -> Op:
    """wait until the optimizer has no work left"""
    ...

def optimization(on: bool) -> Op:
    """write 0 or 1 to the sysctl debug.kprobes-optimization. `False` returns when no jump is left"""
    ...

def enabled(on: bool) -> Op:
    """write 0 or 1 to kprobes/enabled of debugfs: 0 disarms all probes, 1 arms all that aren't disabled"""
    ...

def read_list() -> Op:
    """read kprobes/list of debugfs, as a kernel's reader does: one chain of the hash table after the other, so that what others change meanwhile may be in it or not"""
    ...

def read_enabled() -> Op:
    """read kprobes/enabled of debugfs, which takes no lock"""
    ...

def read_optimization() -> Op:
    """read the sysctl debug.kprobes-optimization, which waits for a write that is under way"""
    ...

def read_missed(k: Probe | str) -> _Both:
    """read a probe's `nmissed`: how many hits ran no handler of it since it was registered or, of a return probe, how many calls found no instance"""
    ...

def label_on(l: Label | str) -> Op:
    """flip a label to its jump"""
    ...

def label_off(l: Label | str) -> Op:
    """flip it to its nop"""
    ...

def set_call(s: StaticCall | str, f: Function | None) -> Op:
    """make `f` the target of a static call; `None`: it calls nothing"""
    ...

def smp_locks(on: bool) -> Op:
    """write all lock prefixes, or remove them; this applies to modules loaded later, too"""
    ...

def apply_alternatives() -> Op:
    """the first call copies all alternatives over the instructions: with interrupts off on its CPU, but without keeping other CPUs from running them meanwhile"""
    ...

def write(at: Function, bytes: Hex | Written, by: int = 0, old: Hex | None = None, stopped: bool = False, errno: Errno = None) -> Op:
    """store `bytes` to text from `at` on, without a lock, and without making any CPU serialise: hex, or what `jump_to`, `call_to`, `displacement`, `address` or `saved` give. `by`: as stores of 1, 2, 4, 8 or 16 bytes, each at once if it lies in 8 aligned bytes, or is 16 that are; left out, as memcpy does, by the largest that fit. `old`: as a compare-and-swap, at once, which stores only if these bytes stand there: else `"EAGAIN"`. `stopped`: by the function that stop_machine() runs on one CPU, while all others wait with interrupts off, and serialise before they go on. The instructions that the text has afterwards are right, too; a CPU that runs a mixture breaks T1. Give calls whose result it changes `changed = True`"""
    ...

def save_text(at: Function, d: Data) -> Op:
    """copy text from `at` on to the data `d`, as many bytes as it has, as they are now: another patcher's breakpoint is copied, too. `write(f, saved(d))` puts them back"""
    ...

def expect_text(at: Function, hex: Hex) -> Op:
    """text from `at` on holds the bytes `hex`, as another patcher reads them"""
    ...

def on_breakpoint(at: Function, goto: Function | None = None, retry: bool = False, call: Function | None = None, links: bool = False) -> Op:
    """from now on a breakpoint at `at` is the task's own: its handler continues at `goto`, or, with `retry`, at `at`, where it runs what stands there then; before that it calls the function `call`. With neither it isn't its own any more. `links = True`: it calls `goto`, as the call at `at` would, which returns after that"""
    ...

def map(t: Function, errno: Errno = None) -> Op:
    """allocate the memory for code `t` and make it executable: each byte is a breakpoint. No CPU serialises. `"ENOMEM"`: it is mapped"""
    ...

def free(t: Function, errno: Errno = None) -> Op:
    """give `t` back to an allocator that may hand it out at once: each byte is a breakpoint from now on. A CPU that runs there, or comes back there, breaks S1. `"EINVAL"`: it isn't mapped"""
    ...

def unmap(t: Function, errno: Errno = None) -> Op:
    """`free` `t`, and take its pages away: a CPU that runs there faults. The CPUs' translations are flushed by IPIs, from which they return serialised"""
    ...

def protect(t: Function, exec: bool, errno: Errno = None) -> Op:
    """take the permission to execute away from the pages of `t` (`exec = False`), or give it back: a CPU that runs there meanwhile faults. The CPUs' translations are flushed by IPIs, from which they return serialised. `"ENOMEM"`: it isn't mapped"""
    ...

def unprotect(t: Function, errno: Errno = None) -> Op:
    """give the pages of `t` the permission that this task's last `protect()` of them found, whatever others have done since, as `VirtualProtect` is called with what it has returned. `"ENOMEM"`: it isn't mapped"""
    ...

def on_fault(t: Function, goto: Function | None = None, retry: bool = False, call: Function | None = None) -> Op:
    """from now on a fault of a CPU that runs in `t` while it can't be executed is the task's own: its handler continues at `goto`, or, with `retry`, waits until `t` can be executed and goes on there; before that it calls the function `call`. With neither it isn't its own any more"""
    ...

def serialise() -> Op:
    """run an instruction that serialises, on this CPU"""
    ...

def sync_core(cpus: int | Sequence[int] | None = None) -> Op:
    """make CPUs serialise, by IPIs, and wait for them: all at once, or those of `cpus`, one after another: `sync_core(cpus = [0, 2])`"""
    ...

def membarrier() -> Op:
    """membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE): every CPU that runs a thread of the process serialises before it returns, and any other one before it runs one; here all do, by IPIs"""
    ...

def flush(at: Function, size: int) -> Op:
    """flush `size` bytes at `at` of the instruction caches. It changes no run. On x86 caches are coherent, and the compilers' `__builtin___clear_cache` does nothing, either: what a CPU has fetched already is kept. On arm64 and ppc64le kpsim takes it that each store to text is followed by it, and says so of a scenario that leaves it out"""
    ...

def safepoint() -> Op:
    """pass a safepoint: the task holds no address of code that may go (`wait("safepoints")`)"""
    ...

def stop(cpus: int | Sequence[int] | None = None) -> Op:
    """stop all other CPUs, or `cpus`, wherever they are, as a debugger, `ptrace` or SuspendThread does, until `resume()`; they serve interrupts meanwhile. This CPU has no other task. One that waits then for what a stopped one holds hangs"""
    ...

def stop_outside(at: Function, size: int, stacks: bool = False) -> Op:
    """`stop()`; if a stopped task stands in the `size` bytes from `at` on, let all go on, and try again. A task stands there if it was interrupted there, or, with `stacks`, if a word of its stack points there. A register isn't looked at"""
    ...

def move(at: Function, to: Function | None = None) -> Op:
    """between `stop()` and `resume()`: each task that was interrupted at `at` continues at `to`"""
    ...

def resume() -> Op:
    """let the CPUs go on that this task has stopped, serialised; not with `fred`, where an interrupt's return doesn't do that: `sync_core()` before"""
    ...

def wait_outside(at: Function, size: int, stacks: bool = False) -> Op:
    """wait until no task stands in the `size` bytes from `at` on, nor with `stacks` comes back there: `stop_outside` and `resume`"""
    ...

def wait(until: Literal["rcu", "sched", "tasks", "tasks-rude", "safepoints"]) -> Op:
    """wait `until` a grace period has ended: `"rcu"`, `"sched"`, `"tasks"`, `"tasks-rude"` (each CPU has switched tasks); or, `"safepoints"`, until each other task has called `safepoint()`, or has ended"""
    ...

def insmod(m: Module | str, errno: Errno = None) -> Op:
    """load a module: its text appears, then `init` runs. Calling a function that isn't there is a page fault without a handler. The run without probes does it as well, and doesn't compare `errno`"""
    ...

def rmmod(m: Module | str, errno: Errno = None) -> Op:
    """unload it: `exit` runs, then its text goes. `"EAGAIN"`: the module is in use"""
    ...

def tracer(on: bool) -> Op:
    """attach ftrace's own client to all sites, or detach it; the sites are rewritten in one batch"""
    ...

def livepatch(on: bool) -> Op:
    """attach a client of ftrace that may change where a call continues, as a live patch does, to all sites, or detach it. A site has at most one such client: it isn't attached while there is another, such as that of probes with a `post_handler`, and these can't be registered while it is attached"""
    ...

def patch_func(f: Function | Sequence[Function], g: Function | Sequence[Function], errno: Errno = None) -> Op:
    """a live patch: calls of `f` continue in `g`, from `f`'s site of ftrace; several functions together: `patch_func([f, h], [g, k])`. It returns when each task has gone over: a task goes over when it doesn't run and isn't in `f`, enters user mode, idles, or, from 6.5 on, calls `cond_resched`. A later patch takes precedence. `"EBUSY"`: another client changes the path there, or another patch is in transition; `"EINVAL"`: there is no site, or the patch is enabled. Called while `unpatch_func` removes the patch, it reverses that. Give calls whose result it changes `changed = True`"""
    ...

def unpatch_func(f: Function, errno: Errno = None) -> Op:
    """remove the newest patch of `f`, with all its functions; it returns when each task has gone back, and none is in a patched-in function or will return into one. Called while `patch_func` brings the patch, it reverses that. `"EBUSY"`: another patch is in transition; `"EINVAL"`: there is none"""
    ...

def register_direct(f: Function, t: Function, errno: Errno = None) -> Op:
    """a direct call (5.5): `f`'s site of ftrace calls the function `t` itself; beside another client it calls ftrace, which continues in `t`. `t` keeps the registers; if it doesn't, give the calls `changed = True`. `"EBUSY"`: the site has a direct call already, or, until 5.19, a client that changes the path"""
    ...

def modify_direct(f: Function, t: Function, errno: Errno = None) -> Op:
    """make the site call another function `t`; it returns when no task is in the previous one. `"EINVAL"`: there is no direct call"""
    ...

def unregister_direct(f: Function, errno: Errno = None) -> Op:
    """remove the direct call; it returns when no task is in the function that was called"""
    ...

def register_fprobe(p: Fprobe | str, errno: Errno = None) -> Op:
    """call the handlers of an fprobe from now on, at all its functions. `"EBUSY"`: it is registered already"""
    ...

def unregister_fprobe(p: Fprobe | str, errno: Errno = None) -> Op:
    """stop calling them; none of them runs any more when it returns. `"EINVAL"`: it isn't registered"""
    ...

def bpf_attach(program: Program | str, errno: Errno = None) -> Op:
    """attach the BPF program `program` to its function: the function's site calls an image of its trampoline, made for all its programs. `"EBUSY"`: it is attached, or, until 5.19, another client changes the path"""
    ...

def bpf_detach(program: Program | str, errno: Errno = None) -> Op:
    """detach `program`. Calls that are under way may still call it, but one of kind `"fexit"` not once the function returns; the image that they are in is freed when none is in it any more. `"EINVAL"`: it isn't attached"""
    ...

def bpf_dispatch(f: Function, p: Function) -> Op:
    """have the BPF dispatcher `f` know the program `p`: `f` begins with a 5-byte nop, and calls the function that its third argument (rdx) points to. The nop becomes a jump to an image, which jumps to the programs that it knows directly, and to any other through rdx; its comparisons change the flags. Each change writes the half of the image that isn't in use, and returns after a grace period of RCU. Calls of `f` are its readers, so it needs preempt `"none"` or `"voluntary"`. A program that was added twice is removed twice"""
    ...

def bpf_undispatch(f: Function, p: Function) -> Op:
    """have it forget the program, which may be freed after a grace period. When no program is left the jump becomes the nop"""
    ...

def bpf_tail_call(f: Function, p: Function | None) -> Op:
    """have the array of programs that `f` tail-calls into hold `p`; `None`: it holds none. `f` has a jump over a 5-byte nop, which it ends behind. With a program the nop is a jump to it, and the jump a nop; it returns from a program's going after a grace period of RCU. Calls of `f` are its readers, so it needs preempt `"none"` or `"voluntary"`; give them `changed = True`"""
    ...

def set_breakpoint(f: Function, errno: Errno = None) -> Op:
    """a debugger's breakpoint, as kgdb's, at an instruction: `f + 4`. The byte there is saved, and an int3 written over it. A CPU that hits it continues after the instruction; kprobes, or the kernel's own engine, is asked first. `"EEXIST"`: there is one; `"EBUSY"`: a task holds `text_mutex`"""
    ...

def clear_breakpoint(f: Function, errno: Errno = None) -> Op:
    """write the saved byte back, whatever stands there by then. `"ENOENT"`: there is no breakpoint; `"EBUSY"`: as above, and it stays"""
    ...

def user() -> Op:
    """spend a while in user mode"""
    ...

def hit_uprobe(f: Function, at: Function | None = None, process: int = 0, recurses: int = 0, leaves: int = 0) -> Op:
    """go to user mode, to an instruction with a uprobe: a #BP, whose handler calls `f`, without arguments, on the way back to user mode, where it may sleep; then a #DB, when the instruction's copy is stepped there. kprobes is asked about both first, and declines them. `process`, 0 to 3, is whose text it is. Where a user has a return handler, the instruction is a function's first one: the function calls itself `recurses` times, each time hitting the uprobe, `longjmp` leaves the innermost `leaves` of the calls, and the others return. `at` is a function that begins with a nop of five bytes, which has the uprobe: the task runs it in user mode, with the fetch model of the machine, and the first hit makes the nop a call of the kernel, as since 6.18; when the last user goes it becomes a nop again"""
    ...

def register_uprobe(f: Function, ret: Function | None = None, skips: int | Sequence[int] | None = None, removes: bool = False, errno: Errno = None) -> Op:
    """register a user of the uprobe, whose handler calls `f`: from now on `hit_uprobe` calls those that are registered, instead of its own. The first brings the breakpoint. `ret` is what its return handler calls, once for each call that returns and began after this. `skips` are the processes that its filter is against, `[1]`: their hits don't call it (no filter is asked of `ret`), and if no user wants a process it has no breakpoint. `removes = True`: each time, its handler has the hit's process skipped from then on; the breakpoint is removed there if no user needs it. `"EBUSY"`: it is registered"""
    ...

def unregister_uprobe(f: Function, errno: Errno = None) -> Op:
    """unregister it; neither `f` nor its return handler runs any more when it returns. The last takes the breakpoint away. `"EINVAL"`: it isn't registered"""
    ...

def hotplug() -> Op:
    """the work of a CPU coming online, without the CPU: the hotplug lock is taken for writing, and `text_mutex` under it"""
    ...

def offline(cpu: int, fails: Literal["sched:active", "workqueue:online", "cpu:teardown"] | None = None) -> Op:
    """take the CPU offline: `cpu_down`. It stops being active: tasks leave it when they schedule (in editions 4.15 and 2.6 when it is taken down), move to the first active CPU, and stay there. When all have left, `stop_machine` takes it down, and it is no longer online. CPU 0 can't go. Nothing happens if the CPU is offline already. `fails`: this step fails, the steps before it are undone, and the CPU stays: `"sched:active"`, as it stops being active; `"workqueue:online"`, when its workers are to be unbound; `"cpu:teardown"`, when it is to be taken down"""
    ...

def online(cpu: int, fails: Literal["sched:active", "workqueue:online", "cpu:bringup"] | None = None) -> Op:
    """bring the CPU online: `cpu_up`. It has fetched nothing, as after a reset. It becomes online first, and active last. `fails`: this step fails, and the CPU is offline again: `"cpu:bringup"`, it doesn't answer; `"workqueue:online"`, when it is online; `"sched:active"`, the last"""
    ...

def schedule() -> Op:
    """give up the CPU once, as the kernel's schedule() does"""
    ...

def spin() -> Op:
    """keep the CPU, interrupts as they are, until a task has called `release()`; it isn't a loop, but a wait during which the CPU runs no other task"""
    ...

def release() -> Op:
    """end the `spin()` of every task that is in one"""
    ...

def wait_signal() -> Op:
    """sleep until a task calls `signal()`; go on at once if one already has"""
    ...

def signal() -> Op:
    """wake the tasks that sleep in `wait_signal()`"""
    ...

def wait_ended() -> Op:
    """sleep until each other task that isn't in the background has ended, or waits so, too. What `hits` and `expect` say after it holds at the end of each schedule"""
    ...

def queue_work(f: Function) -> Op:
    """queue `f` as a work item: when its timer fires, a worker calls it, without arguments, on CPU 0, or, in a scenario with hotplug, on the CPU that queued it; nothing happens if it is queued already and hasn't begun"""
    ...

def flush_work(f: Function) -> Op:
    """sleep until the work `f` is neither queued nor running"""
    ...

def jump_to(f: Function) -> Written:
    """what a `write` stores: a jump to `f`, or `f + 4`, from where it is written: 5 bytes; on arm64 and ppc64le 4, on riscv64 8 (auipc and jalr)"""
    ...

def call_to(f: Function) -> Written:
    """a call of `f`, as long; on riscv64 it links t0, as ftrace's sites do, so that a function that returns by ra goes back to the caller of the site's function"""
    ...

def displacement(f: Function) -> Written:
    """the displacement of such a jump or call, whose first byte stands before it: 4 bytes, `write(g + 1, displacement(f))`"""
    ...

def address(f: Function) -> Written:
    """the address of `f`, as an immediate has it: 8 bytes"""
    ...

def saved(d: Data) -> Written:
    """what the data `d` hold then, as `save_text` has left them"""
    ...

def timer(cpu: int, at_most: int = 1, run: Function | None = None, opens: bool = False, idle: bool = False, args: Sequence[Word] = []) -> None:
    """a timer tick, whose handler calls `run`, with up to six numbers, `args = [3, 5]`; `opens`: the handler turns interrupts on before it ends; `idle`: it also fires while the CPU has no task to run"""
    ...

def nmi(cpu: int, at_most: int = 1, run: Function | None = None, idle: bool = False, args: Sequence[Word] = []) -> None:
    """a non-maskable interrupt; `run`, `args` and `idle` as a timer's"""
    ...

def preempt(cpu: int, at_most: int = 1) -> None:
    """a reschedule interrupt: another task is to run. It needs a second task on that CPU"""
    ...

def never(canary: str | None = None) -> None:
    """no schedule breaks any property. `canary`: with this mutant some schedule must, which shows that the search isn't blind. This is the default"""
    ...

def sometimes(property: str) -> None:
    """some schedule breaks the `property` with this name or ID, `"T2"`; `kpsim list` prints them"""
    ...
