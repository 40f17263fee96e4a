package x86

const (
	RAX  = iota
	Int3 = 0xcc
)

var nop = []byte{0x0f, 0x1f, 0x00}
