package small

// patterns are the instructions whose effect the reference knows. In bytes, -1 is any value.
var patterns = []struct {
	bytes []int
	does  effect
	value func(code []byte) int
}{
	{[]int{0xb8, -1, -1, -1, -1}, gives, after1},                     // mov $v,%eax
	{[]int{0x31, 0xc0}, gives, func([]byte) int { return 0 }},        // xor %eax,%eax
	{[]int{0x83, 0xc0, -1}, adds, last},                              // add $v,%eax
	{[]int{0xff, 0xcf}, descends, nil},                               // dec %edi
	{[]int{0x78, -1}, skips, last},                                   // js
	{[]int{0xe8, -1, -1, -1, -1}, calls, after1},                     // call
	{[]int{0x48, 0x83, 0x0c, 0x25, -1, -1, -1, -1, -1}, notes, last}, // orq $v,log
	{[]int{0xc3}, returns, nil},
}

// last is the value in the last byte.
func last(c []byte) int { return int(int8(c[len(c)-1])) }

// after1 is the value in the four bytes after the first.
func after1(c []byte) int {
	return int(int32(uint32(c[1]) | uint32(c[2])<<8 | uint32(c[3])<<16 | uint32(c[4])<<24))
}

// effectX86 is dialect.effect.
func effectX86(code []byte) (in insn) {
	for _, p := range patterns {
		if len(code) < len(p.bytes) {
			continue
		}
		same := true
		for i, b := range p.bytes {
			same = same && (b < 0 || code[i] == byte(b))
		}
		if same {
			if in.does = p.does; p.value != nil {
				in.v = p.value(code)
			}
			return in
		}
	}
	return in
}
