package rules

import (
	"slices"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// jumpSize is the size of the jump that replaces a region's head.
const jumpSize = 5

// slotSize is the room for a copy and its jump or breakpoint (MAX_INSN_SIZE).
const slotSize = 15

// A Judge judges functions, one after another, and reuses its memory: it allocates only
// for a function that is larger than those before. The zero value is ready to use.
type Judge struct {
	k      Kernel   // set at Load
	f      Function // set at Load: its slices are the caller's
	tables *opcodes // set at Load

	insns []insn     // set at Load: consecutive instructions from the start, up to stop
	bytes []byteFact // set at Load: for each byte of the function and of what its last instruction may cover
	stop  int        // set at Load: end of the known boundaries: Size or more, or an offset from which none are known
	why   ReasonKind // set at Load: why they end at stop
	fault int        // set at Load: the offset that rules out every optimization
	never Reason     // set at Load: why
}

// A byteFact is what is known about a byte.
type byteFact struct {
	insn   int32 // 1 + the index of the instruction that begins here
	jumper int32 // 1 + the offset of the first jump that leads here
	site   int32 // 1 + the index of the site that covers it, fentry sites excepted
	fentry bool  // a fentry site covers it
	extab  bool  // there is an exception-table entry for it
}

// Load decodes a function as kernel k would, and keeps what At needs. The function's
// slices must not change until the next Load.
func (j *Judge) Load(k *Kernel, f *Function) {
	j.k, j.f = *k, *f
	j.tables = k.tables()
	j.insns = j.insns[:0]
	if n := f.Size + maxLen; n <= cap(j.bytes) {
		j.bytes = j.bytes[:n]
	} else {
		j.bytes = make([]byteFact, n, 2*n)
	}
	clear(j.bytes)
	j.loadFacts()
	j.stop, j.why = f.Size, None
	j.fault, j.never = f.Size, Reason{}
	if n := k.numbers(); n != nil {
		j.loadNumbers(n)
		return
	}
	for at := 0; at < j.stop; {
		at += j.loadInsn(at)
	}
}

func (j *Judge) loadFacts() {
	for i, s := range j.f.Sites {
		if !j.k.knows(s.Kind) {
			continue
		}
		if s.Kind == SiteBug || s.Kind == SiteAlternative {
			s.Len = 1 // the tables of BUGs and of lock prefixes have addresses, not ranges
		}
		for at := max(s.Offset, 0); at < min(s.Offset+s.Len, len(j.bytes)); at++ {
			b := &j.bytes[at]
			switch {
			case s.Kind == SiteFentry:
				b.fentry = true
			case b.site == 0, j.f.Sites[b.site-1].Kind == SiteAlternative, // which rules out less than the others
				j.f.Sites[b.site-1].Kind == SiteBug && s.Kind != SiteAlternative:
				b.site = int32(i + 1)
			}
		}
	}
	for _, at := range j.f.Extable {
		if at >= 0 && at < j.f.Size {
			j.bytes[at].extab = true
		}
	}
}

// knows reports whether kprobes of that kernel checks for sites of a kind: jump labels
// and alternatives since 2.6.37 at the latest, BUG since 5.4, static calls since 5.10.
// Without KPROBES_ON_FTRACE there is no dynamic ftrace on x86_64 either, so nothing
// rewrites a fentry site.
func (k *Kernel) knows(kind SiteKind) bool {
	switch kind {
	case SiteFentry:
		return k.Edition >= Edition415 && k.Ftrace || k.numbers() != nil
	case SiteStaticCall:
		return k.Edition >= Edition514 && k.Unchecked&CheckStaticCall == 0
	case SiteBug:
		return k.Edition >= Edition514
	}
	return k.Edition >= Edition415
}

// decodeAt decodes the instruction at an offset.
func (j *Judge) decodeAt(at int) insn {
	var w window
	copy(w[:maxLen], j.f.Code[min(at, len(j.f.Code)):])
	return decode(j.tables, &w)
}

// loadInsn decodes the instruction at an offset, notes its effect on others and returns
// its length.
func (j *Judge) loadInsn(at int) int {
	in := j.decodeAt(at)
	if in.bad && j.k.Edition < Edition514 {
		in.bad = false // older decoders gave no errors
	}
	j.insns = append(j.insns, in)
	j.bytes[at].insn = int32(len(j.insns))
	if j.bytes[at].extab {
		j.forbid(at, ExtableEntry)
	}
	switch {
	case in.bad:
		j.forbid(at, UndecodableAt)
		j.stop, j.why = at, BehindBad
	case in.op[0] == x86.Int3 && (j.k.Edition < Edition65 || slices.Contains(j.f.Debugger, at)):
		// Before 6.1 an int3 that isn't a probe's meant that a debugger was in use; since then
		// the debugger is asked (kgdb_has_hit_break).
		j.forbid(at, Int3At)
		j.stop, j.why = at, BehindInt3
	case in.jumpsAnywhere() && !j.noJumpTables():
		j.forbid(at, IndirectJumpAt)
	case in.jumps():
		j.loadJump(at, &in)
	}
	return int(in.length)
}

// noJumpTables reports whether an indirect jump is known not to lead into a function:
// kernels built with retpolines or IBT have no jump tables, which counts since 6.6
// (833fd800bf56).
func (j *Judge) noJumpTables() bool {
	return j.k.Edition >= Edition69 && (j.k.Retpoline || j.k.IBT)
}

func (j *Judge) loadJump(at int, in *insn) {
	to := at + int(in.length) + int(in.imm)
	if j.k.Retpoline && !j.noJumpTables() {
		for _, s := range j.f.Thunks {
			if a := j.f.Addr + arch.Addr(to); s.Start <= a && a < s.End {
				j.forbid(at, ThunkJumpAt)
			}
		}
	}
	if to >= 0 && to <= j.f.Size && j.bytes[to].jumper == 0 {
		j.bytes[to].jumper = int32(at + 1)
	}
}

// forbid notes that no probe in the function can be optimized.
func (j *Judge) forbid(at int, why ReasonKind) {
	if why == ExtableEntry && j.k.Unchecked&CheckExtable != 0 || why == IndirectJumpAt &&
		j.k.Unchecked&CheckIndirect != 0 {
		return
	}
	if j.never.Kind == None {
		j.fault, j.never = at, Reason{Kind: why, At: at}
	}
}

// At returns the verdict on the byte at an offset from 0 to Size-1; other offsets are
// outside the symbol. A function that is only an endbr64 is also refused: the probe
// would be on the next bytes, which the judge doesn't know.
func (j *Judge) At(offset int) Verdict { return j.at(offset, j.k.Edition == Edition26) }

func (j *Judge) at(offset int, anyByte bool) Verdict {
	if n := j.k.numbers(); n != nil {
		return j.atNumber(n, offset, anyByte)
	}
	v := Verdict{Offset: offset}
	if offset == 0 {
		v.Delta = Entry(&j.k, j.f.Code)
	}
	at := offset + v.Delta
	if at < 0 || at >= j.f.Size {
		return refused(v, noent, Reason{Kind: NoSymbol})
	}
	if errno, why := j.checkAddress(at); errno != 0 {
		return refused(v, errno, why)
	}
	if j.atFentry(at) {
		v.Ftrace = true
		v.Why, v.NoBoost = Reason{Kind: ViaFtrace}, Reason{Kind: ViaFtrace}
		return v
	}
	if anyByte {
		in := j.decodeAt(at)
		v.Len = int(in.length)
		v.Why, v.NoBoost = Reason{Kind: NoOptprobes}, Reason{Kind: NoBooster}
		if j.k.Edition == Edition26 && j.k.Bits32 {
			v.NoBoost = j.boost(at, &in)
			v.Boosted = v.NoBoost.Kind == None
		}
		return v
	}
	if errno, why := j.checkBytes(at); errno != 0 {
		return refused(v, errno, why)
	}
	in := j.insnAt(at)
	v.Len = int(in.length)
	if j.k.Edition >= Edition514 {
		v.Emulated, _ = in.emulation()
	}
	v.NoBoost = j.boost(at, in)
	v.Boosted = v.NoBoost.Kind == None
	v.Region, v.Why = j.optimize(at)
	return v
}

// AtAny is At for a kernel that doesn't check boundaries: any byte counts as the first one of an
// instruction. Nothing is emulated or optimized, and only 2.6 on i386 boosts.
func (j *Judge) AtAny(offset int) Verdict { return j.at(offset, true) }

// Boundary reports whether an instruction begins at an offset from 0 to Size-1, as the
// kernel decodes them from the function's start.
func (j *Judge) Boundary(offset int) bool { return j.bytes[offset].insn != 0 }

// Inside returns the reason why an offset inside an instruction can't be probed.
func (j *Judge) Inside(offset int) Reason { return Reason{Kind: Boundary, At: j.before(offset)} }

// Length returns the length of the instruction that the kernel sees at an offset from 0
// to Size-1, whether it can be probed or not; 0: none begins there, or it is
// undecodable. The linear walk from the function's start uses it.
func (j *Judge) Length(offset int) int {
	if n := j.k.numbers(); n != nil {
		if j.bytes[offset].insn == 0 {
			return 0
		}
		return n.length(uint32(j.wordAt(offset)))
	}
	in := j.decodeAt(offset)
	known := j.bytes[offset].insn != 0 || j.k.Edition == Edition26
	if !known || in.bad && j.k.Edition >= Edition514 {
		return 0
	}
	return int(in.length)
}

func refused(v Verdict, errno int, why Reason) Verdict {
	return Verdict{Offset: v.Offset, Errno: errno, Why: why}
}

// insnAt returns the instruction at an offset, which must be a boundary.
func (j *Judge) insnAt(at int) *insn { return &j.insns[j.bytes[at].insn-1] }

// Entry returns the offset of a probe at the start of a function with that code: 4
// after endbr64, endbr32, or the nop that 6.12 writes over an endbr64 that isn't a
// target; else 0.
func Entry(k *Kernel, code []byte) int {
	if !k.IBT || k.Edition < Edition514 || len(code) < 4 {
		return 0
	}
	switch string(code[:4]) {
	case "\xf3\x0f\x1e\xfa", "\xf3\x0f\x1e\xfb", "\x66\x0f\x1f\x00":
		return 4
	}
	return 0
}

// LocalEntry returns the offset of a probe that is registered by the symbol of a function with that code, on
// processors other than x86, and how many bytes after its start still count as its entry. site is where ftrace's site
// is in it, -1 if there is none: a probe that goes through ftrace is placed there, and all before it is the entry
// (kprobe_lookup_name and arch_kprobe_on_func_entry of powerpc).
func LocalEntry(k *Kernel, code []byte, site int) (at, near int) {
	n := k.numbers()
	if n == nil || n.entry == nil {
		return 0, 0
	}
	if at, near = n.entry(code), n.near; site < 0 {
		return at, near
	}
	if k.Ftrace && site <= 16 {
		at = site
	}
	return at, site
}

// checkAddress checks an address as register_kprobe does before it looks at the
// instruction, in the kernel's order: the symbol, ftrace, the text.
func (j *Judge) checkAddress(at int) (errno int, why Reason) {
	b := &j.bytes[at]
	switch {
	case j.f.InitFreed && j.k.Edition == Edition26: // every error about a symbol was that one
		return inval, Reason{Kind: InitFreed}
	case j.f.InitFreed:
		return noent, Reason{Kind: InitFreed}
	case j.f.NoSymbol && j.k.Edition >= Edition514: // since 5.18 (cc66bb914578)
		return noent, Reason{Kind: NoSymbol}
	case b.fentry && !j.atFentry(at) && j.k.Edition < Edition514: // until 5.17 (aebfd12521d9)
		return ilseq, Reason{Kind: Boundary, At: j.before(at)}
	case j.f.NotText:
		return inval, Reason{Kind: NotText}
	case j.f.Blacklisted:
		return inval, Reason{Kind: Blacklisted}
	// alternatives are checked with an empty range: see inRegion
	case b.site != 0 && j.f.Sites[b.site-1].Kind != SiteAlternative:
		site := &j.f.Sites[b.site-1]
		return inval, Reason{Kind: InSite, Site: site.Kind, At: site.Offset}
	case j.k.Edition >= Edition69 && isPreamble(j.f.Name): // since 6.6 (de02f2ac5d8c)
		return inval, Reason{Kind: Preamble}
	case j.f.NoSymbol && j.k.Edition == Edition415: // no start to decode from
		return ilseq, Reason{Kind: NoSymbol}
	}
	return 0, Reason{}
}

// isPreamble reports whether a symbol names the bytes before a function.
func isPreamble(name string) bool {
	return strings.HasPrefix(name, "__pfx_") || strings.HasPrefix(name, "__cfi_")
}

// atFentry reports whether a fentry site begins at an offset.
func (j *Judge) atFentry(at int) bool {
	return j.bytes[at].fentry && (at == 0 || !j.bytes[at-1].fentry)
}

// checkBytes checks whether an instruction that can be probed begins at an offset. The
// errno of an int3 is different since 6.9, which checks it together with the boundary.
func (j *Judge) checkBytes(at int) (errno int, why Reason) {
	if at > j.stop {
		return ilseq, Reason{Kind: j.why, At: j.stop}
	}
	if j.bytes[at].insn == 0 {
		return ilseq, Reason{Kind: Boundary, At: j.before(at)}
	}
	in := j.insnAt(at)
	late := j.k.Edition >= Edition69
	switch {
	case in.op[0] == x86.Int3 && j.k.Unchecked&CheckInt3 != 0:
		return 0, Reason{}
	case in.bad && late:
		return ilseq, Reason{Kind: Undecodable}
	case in.bad:
		return inval, Reason{Kind: Undecodable}
	case late && in.op[0] == x86.Int3:
		return ilseq, Reason{Kind: Breakpoint}
	case late && in.isTrap():
		return ilseq, Reason{Kind: Traps}
	case in.forced && j.k.Unchecked&CheckForced == 0:
		return inval, Reason{Kind: ForcedEmulated}
	case in.op[0] == x86.Int3:
		return inval, Reason{Kind: Breakpoint}
	case in.masksTraps():
		return inval, Reason{Kind: MasksTraps}
	case j.k.Edition < Edition514: // stepped by #DB: every instruction is accepted
		return 0, Reason{}
	}
	if _, refused := in.emulation(); refused {
		return notsup, Reason{Kind: Unsupported}
	}
	if in.length == slotSize {
		return nospc, Reason{Kind: NoRoom}
	}
	return 0, Reason{}
}

// before returns the offset of the instruction that covers an offset.
func (j *Judge) before(at int) int {
	for at > 0 && j.bytes[at].insn == 0 {
		at--
	}
	return at
}

// boost returns why an instruction isn't boosted.
func (j *Judge) boost(at int, in *insn) Reason {
	if j.k.Preemption {
		return Reason{Kind: Preemptible}
	}
	return j.jumpBack(at, in)
}

// jumpBack returns why the copy of an instruction can't be followed by a jump back.
func (j *Judge) jumpBack(at int, in *insn) Reason {
	switch {
	case j.bytes[at].extab && j.k.Unchecked&CheckFault == 0:
		return Reason{Kind: ExtableEntry, At: at}
	case !j.k.movable(in):
		return Reason{Kind: Fixed}
	case slotSize-int(in.length) < jumpSize:
		return Reason{Kind: NoRoomJump}
	}
	return Reason{}
}

// optimize returns the region of an optimized probe, or why there is none. It checks in
// the kernel's order: the function from its start, then the region.
func (j *Judge) optimize(at int) (region int, why Reason) {
	switch {
	case !j.k.Optprobes:
		return 0, Reason{Kind: NoOptprobes}
	case at+jumpSize > j.f.Size && j.k.Unchecked&CheckEnd == 0:
		return 0, Reason{Kind: Straddles}
	}
	if why = j.targeted(at); why.Kind != None {
		return 0, why
	}
	for region < jumpSize {
		here := at + region
		if here >= j.f.Size {
			j.loadInsn(here) // with CheckEnd left out
		}
		in := j.insnAt(here)
		if why := j.copies(here, in); why.Kind != None {
			return 0, why
		}
		region += int(in.length)
	}
	for i := at; i < at+region; i++ {
		b := &j.bytes[i]
		if b.site != 0 && j.f.Sites[b.site-1].inRegion(i == at+region-1) {
			site := &j.f.Sites[b.site-1]
			return 0, Reason{Kind: SiteInRegion, Site: site.Kind, At: site.Offset}
		}
		if b.fentry {
			return 0, Reason{Kind: SiteInRegion, Site: SiteFentry, At: i}
		}
	}
	return region, Reason{}
}

// inRegion reports whether a site rules out a region over it. A BUG doesn't. A lock
// prefix doesn't on the region's last byte, because alternatives_text_reserved excludes
// the end, which the others include.
func (s *Site) inRegion(last bool) bool {
	return s.Kind != SiteBug && !(s.Kind == SiteAlternative && last)
}

// targeted finds a jump in the function that rules out a region at an offset. Jumps to
// byte +5 count, although they lead past the jump.
func (j *Judge) targeted(at int) Reason {
	first := Reason{}
	for to := at + 1; to <= at+jumpSize && j.k.Unchecked&CheckTargets == 0; to++ {
		if from := int(j.bytes[to].jumper) - 1; from >= 0 && (first.Kind == None || from < first.At) {
			first = Reason{Kind: TargetedBy, At: from}
		}
	}
	if j.never.Kind != None && (first.Kind == None || j.fault <= first.At) {
		return j.never
	}
	return first
}

// copies returns why an instruction of a region can't be copied.
func (j *Judge) copies(at int, in *insn) Reason {
	switch {
	case in.op[0] == x86.Int3:
		return Reason{Kind: Int3At, At: at}
	case j.k.movable(in) && !in.masksTraps() && !in.forced:
		return Reason{}
	case in.calls():
		return Reason{Kind: CallInRegion, At: at}
	case in.jumps() || in.jumpsAnywhere():
		return Reason{Kind: JumpInRegion, At: at}
	}
	return Reason{Kind: FixedInRegion, At: at}
}
