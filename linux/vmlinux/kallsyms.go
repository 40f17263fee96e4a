package vmlinux

import (
	"encoding/binary"
	"fmt"
)

// The tables that scripts/kallsyms.c makes and kernel/kallsyms.c reads. No symbol
// of a vmlinuz says where they are, and their order differs by release:
//
//	to 6.3    offsets, relative_base, num_syms, names, markers, [6.2: seqs_of_names,] token_table, token_index
//	from 6.4  num_syms, names, markers, token_table, token_index, offsets, relative_base, seqs_of_names
//	from 7.0  the same without relative_base, each offset relative to itself; aligned to 4 bytes, not 8
//
// So token_index is found by its form, the token_table before it by that, the
// markers and the names before them by each other.
//
// In a 32-bit kernel relative_base has four bytes, and everything is aligned to 4.
type kallsyms struct {
	*class
	b      []byte // the section
	tokens [256]string
	index  int // offset of token_index
	names  int // offset of names
	num    int // number of symbols
	left   int // steps left of the search, which a malicious file could make endless
}

// A name has at most 512 characters (KSYM_NAME_LEN), a token of its compression
// fewer; 2 is the shortest entry of a name, 257 bytes were the longest until 6.1.
const (
	tokenMax     = 128
	nameEntryMax = 520
	markerEvery  = 256
	symsMin      = 256
	symsMax      = 4 << 20
	searchSteps  = 100 << 20 // a kernel needs some 300,000
)

// readKallsyms finds the tables in a section and returns the symbols in table order, which is by
// address.
func readKallsyms(s *Section, c *class) ([]Symbol, error) {
	k := &kallsyms{class: c, b: s.Data, left: searchSteps}
	for at := 0; at+512 <= len(k.b) && k.left > 0; at += 4 {
		if !k.findTokens(at) {
			continue
		}
		if !k.findNames() {
			continue
		}
		addrs, moves, err := k.addresses(s.Addr)
		if err != nil {
			return nil, err
		}
		return k.symbols(addrs, moves), nil
	}
	return nil, fmt.Errorf("%s: holds no kallsyms tables: build the kernel with CONFIG_KALLSYMS, or give the "+
		"vmlinux with its symbol table", s.Name)
}

// findTokens reports whether token_index is at that offset, and reads the tokens.
func (k *kallsyms) findTokens(at int) bool {
	le := binary.LittleEndian
	b := k.b[at : at+512]
	if le.Uint16(b) != 0 {
		return false
	}
	for i := 2; i < 512; i += 2 {
		if d := int(le.Uint16(b[i:])) - int(le.Uint16(b[i-2:])); d < 1 || d > tokenMax {
			return false
		}
	}
	// The table ends before the index, followed by at most 7 bytes of padding.
	last := int(le.Uint16(b[510:]))
	for table := (at - last - 2) &^ 3; table >= 0 && table >= at-last-tokenMax-8; table -= 4 {
		if k.readTokens(table, at) {
			k.index = at
			return true
		}
	}
	return false
}

func (k *kallsyms) readTokens(table, index int) bool {
	for i := range k.tokens {
		t := k.b[table+int(binary.LittleEndian.Uint16(k.b[index+2*i:])) : index]
		end := 0
		for end < len(t) && t[end] != 0 {
			if t[end] <= ' ' || t[end] > '~' {
				return false
			}
			end++
		}
		if end == len(t) || i < 255 &&
			end+1 != int(binary.LittleEndian.Uint16(k.b[index+2*i+2:]))-int(binary.LittleEndian.Uint16(k.b[index+2*i:])) {
			return false
		}
		k.tokens[i] = string(t[:end])
	}
	return true
}

// findNames finds the markers, which hold the offset of each 256th name, and the names before
// them.
func (k *kallsyms) findNames() bool {
	le := binary.LittleEndian
	for m := k.index; m >= 16 && k.left > 0; m -= 4 {
		k.left--
		if le.Uint32(k.b[m:]) != 0 {
			continue
		}
		ends := m + 4
		for ends+4 <= k.index {
			if d := int64(le.Uint32(k.b[ends:])) - int64(le.Uint32(k.b[ends-4:])); d < 2*markerEvery ||
				d > nameEntryMax*markerEvery {
				break
			}
			ends += 4
		}
		k.left -= (ends - m) / 4
		if n := (ends - m) / 4; n >= 2 && k.namesBefore(m, n) {
			return true
		}
	}
	return false
}

// namesBefore looks for the names whose markers, at most n, begin at m.
func (k *kallsyms) namesBefore(m, n int) bool {
	le := binary.LittleEndian
	for used := n; used >= 2 && used > n-4; used-- { // data after the markers may look like more of them
		last := int(le.Uint32(k.b[m+4*(used-1):]))
		for at := (m - last) &^ 3; at >= 8 && at >= m-last-nameEntryMax*markerEvery && k.left > 0; at -= 4 {
			k.left--
			num := le.Uint32(k.b[at-4:])
			if num == 0 { // padding that aligns names to 8 bytes
				num = le.Uint32(k.b[at-8:])
			}
			if num < symsMin || num > symsMax || (int(num)+markerEvery-1)/markerEvery != used {
				continue
			}
			if k.checkNames(at, m, int(num)) {
				k.names, k.num = at, int(num)
				return true
			}
		}
	}
	return false
}

// checkNames reports whether num names begin at that offset, agree with the markers at m, and end
// before them.
func (k *kallsyms) checkNames(at, m, num int) bool {
	p := at
	for i := range num {
		k.left--
		if i%markerEvery == 0 && int(binary.LittleEndian.Uint32(k.b[m+i/markerEvery*4:])) != p-at {
			return false
		}
		n, skip := k.entry(p, m)
		if n == 0 {
			return false
		}
		p += skip + n
	}
	return m-p < 8
}

// entry returns the length of the name at p, in tokens, and the size of that length in bytes: one
// or, since 6.1, up to two, with seven bits each.
func (k *kallsyms) entry(p, end int) (n, skip int) {
	if p+2 > end {
		return 0, 0
	}
	n, skip = int(k.b[p]), 1
	if n&0x80 != 0 {
		n, skip = n&0x7f|int(k.b[p+1])<<7, 2
	}
	if n > nameEntryMax || p+skip+n > end {
		return 0, 0
	}
	return n, skip
}

// addresses reads offsets and relative_base of a section at an address. With
// CONFIG_KALLSYMS_ABSOLUTE_PERCPU, which x86 had before 6.15, a non-negative offset is an address
// that doesn't move; a negative one is subtracted from the base, less one.
func (k *kallsyms) addresses(section uint64) (addrs []uint64, moves []bool, err error) {
	le := binary.LittleEndian
	up := func(n int) int { return (n + k.Word - 1) &^ (k.Word - 1) }
	offsets, base := k.index+512, up(k.index+512+4*k.num)
	addrs, moves = make([]uint64, k.num), make([]bool, k.num)
	before := k.names - 2*k.Word // also of num_syms, which is aligned
	switch {
	case k.plausible(offsets, base):
	case k.plausible(before-up(4*k.num), before):
		offsets, base = before-up(4*k.num), before
	case k.relative(offsets, section, addrs):
		for i := range moves {
			moves[i] = true
		}
		return addrs, moves, nil
	default:
		return nil, nil, fmt.Errorf("kallsyms: %d names, but their addresses aren't where they are known to "+
			"be: the kernel has CONFIG_KALLSYMS_BASE_RELATIVE off, or is newer than this program; give the "+
			"vmlinux with its symbol table", k.num)
	}
	from := k.Get(k.b[base:])
	perCPU := false
	for i := range addrs {
		perCPU = perCPU || int32(le.Uint32(k.b[offsets+4*i:])) < 0
	}
	for i := range addrs {
		off := le.Uint32(k.b[offsets+4*i:])
		switch {
		case !perCPU:
			addrs[i], moves[i] = from+uint64(off), true
		case int32(off) >= 0:
			addrs[i] = uint64(off)
		default:
			addrs[i], moves[i] = from-1-uint64(int64(int32(off))), true
		}
	}
	return addrs, moves, nil
}

// relative reads offsets that are relative to themselves, and reports whether they are plausible:
// sorted addresses of the kernel.
func (k *kallsyms) relative(offsets int, section uint64, addrs []uint64) bool {
	if offsets+4*k.num > len(k.b) {
		return false
	}
	for i := range addrs {
		at := offsets + 4*i
		addrs[i] = section + uint64(at) + uint64(int64(int32(binary.LittleEndian.Uint32(k.b[at:]))))
		if addrs[i] < k.low || i > 0 && addrs[i] < addrs[i-1] {
			return false
		}
	}
	return true
}

// plausible reports whether these can be the offsets and the base: the base must be an address of
// the kernel, and the symbols sorted.
func (k *kallsyms) plausible(offsets, base int) bool {
	le := binary.LittleEndian
	if offsets < 0 || base+k.Word > len(k.b) || k.Get(k.b[base:]) < k.low {
		return false
	}
	rank := func(i int) uint32 { // increases with the address for both kinds of offset
		off := le.Uint32(k.b[offsets+4*i:])
		if int32(off) < 0 {
			return ^off | 1<<31
		}
		return off
	}
	for i := 1; i < k.num; i++ {
		if rank(i) < rank(i-1) {
			return false
		}
	}
	return true
}

// symbols decompresses the names. The first character is the symbol type of nm.
func (k *kallsyms) symbols(addrs []uint64, moves []bool) []Symbol {
	all := make([]Symbol, 0, k.num)
	p := k.names
	var name []byte
	for i := range k.num {
		n, skip := k.entry(p, len(k.b))
		name = name[:0]
		for _, t := range k.b[p+skip : p+skip+n] {
			if len(name) < 2*nameEntryMax {
				name = append(name, k.tokens[t]...)
			}
		}
		p += skip + n
		if len(name) > 1 {
			weak := name[0] == 'w' || name[0] == 'v' || name[0] == 'W' || name[0] == 'V' // letters of nm
			all = append(all, Symbol{
				Name: string(name[1:]), Addr: addrs[i], Global: weak || name[0] < 'a', Weak: weak,
				moves: moves[i], listed: true,
			})
		}
	}
	return all
}
