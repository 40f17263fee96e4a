package vmlinux

import (
	"strconv"
	"strings"
	"sync"
)

// Types holds the layouts of the kernel's structs and unions. Goroutines may share it.
type Types struct {
	// From is the source of the types: "BTF" or "DWARF", or empty if there are none.
	From string

	mu     sync.Mutex
	known  map[string]*composite // by name, those looked up so far; nil: no such type
	source func(name string) *composite
}

// A composite is a struct or a union.
type composite struct {
	size    int // bytes
	members []member
}

// A member of a composite. An anonymous struct or union has no name.
type member struct {
	name  string
	bit   int // its first bit
	size  int // in bytes; for a bit field, of its type
	width int // in bits, of a bit field; otherwise 0
	array int // number of elements of an array, otherwise 0
	of    *composite
}

// depthMax is the maximum nesting of structs, which is endless in a damaged file.
const depthMax = 32

// membersMax limits the members visited for one name, which grow without limit if anonymous
// structs share others.
const membersMax = 1 << 20

// get returns the struct, union or typedef of that name, or nil.
func (t *Types) get(name string) *composite {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.known[name]
	if !ok {
		c = t.source(name)
		t.known[name] = c
	}
	return c
}

// Size returns the size in bytes of the struct, union or typedef of that name.
func (t *Types) Size(name string) (int, bool) {
	c := t.get(name)
	if c == nil {
		return 0, false
	}
	return c.size, true
}

// Off returns the offset of a member of the struct or union of that name, and its size, in bytes.
// The member may be a path, "ainsn.insn", and lie in anonymous structs and unions. Bit fields
// have no offset in bytes; use Bits.
func (t *Types) Off(name, path string) (off, size int, ok bool) {
	bit, m, ok := t.find(name, path)
	if !ok || m.width != 0 || bit%8 != 0 {
		return 0, 0, false
	}
	return bit / 8, m.size, true
}

// Bits returns the position of a bit field: the byte in which it begins, the bit within that
// byte, 0 being the lowest, and its width in bits. It works for other members too.
func (t *Types) Bits(name, path string) (off, bit, width int, ok bool) {
	at, m, ok := t.find(name, path)
	if !ok {
		return 0, 0, 0, false
	}
	width = m.width
	if width == 0 {
		width = 8 * m.size
	}
	return at / 8, at % 8, width, true
}

// find follows a path, and returns the first bit of its last member.
func (t *Types) find(name, path string) (bit int, m member, ok bool) {
	c := t.get(name)
	for len(path) > 0 {
		var first string
		first, path, _ = strings.Cut(path, ".")
		if c == nil {
			return 0, m, false
		}
		var at int
		left := membersMax
		if at, m, ok = c.find(first, depthMax, &left); !ok {
			return 0, m, false
		}
		bit += at
		c = m.of
	}
	return bit, m, ok
}

// find returns the member of that name, and its first bit. It visits at most *left members.
func (c *composite) find(name string, depth int, left *int) (bit int, m member, ok bool) {
	*left -= len(c.members)
	if name == "" || depth == 0 || *left < 0 {
		return 0, m, false
	}
	for _, m := range c.members {
		if m.name == name {
			return m.bit, m, true
		}
		if m.name == "" && m.of != nil {
			if at, in, ok := m.of.find(name, depth-1, left); ok {
				return m.bit + at, in, true
			}
		}
	}
	return 0, m, false
}

// Member returns the path of the innermost member at a byte of the struct or union of that name:
// "flags", "ainsn.insn", "slots[3].key". In a union it is the first member; bit fields that share
// the byte are all named.
func (t *Types) Member(name string, off int) (path string, ok bool) {
	c := t.get(name)
	var parts []string
	for depth := 0; c != nil && depth < depthMax; depth++ {
		m, in := c.at(off)
		if m == nil {
			break
		}
		off = in
		if m.name != "" {
			parts = append(parts, m.name)
		}
		if m.array > 0 && m.size >= m.array {
			each := m.size / m.array
			if m.name != "" && m.array > 1 && m.of != nil {
				parts[len(parts)-1] += "[" + strconv.Itoa(off/each) + "]"
			}
			off %= each
		}
		c = m.of
	}
	return strings.Join(parts, "."), len(parts) > 0
}

// at returns the first member that contains a byte, and the byte's offset in it.
func (c *composite) at(off int) (*member, int) {
	for i := range c.members {
		m := &c.members[i]
		if m.width != 0 {
			if off < m.bit/8 || off > (m.bit+m.width-1)/8 {
				continue
			}
			shared := *m
			for _, n := range c.members[i+1:] {
				if n.width != 0 && n.bit/8 == off {
					shared.name += "/" + n.name
				}
			}
			return &shared, 0
		}
		if off >= m.bit/8 && off-m.bit/8 < m.size {
			return m, off - m.bit/8
		}
	}
	return nil, 0
}
