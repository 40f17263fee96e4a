package kprobes

import (
	"fmt"

	"kpsim/kprobes/kpev"
)

// Errno is the answer of an API call that can't be met: a kernel errno.
type Errno int

// The errnos the API returns.
const (
	ENOENT     Errno = 2  // the address lies in no function
	E2BIG      Errno = 7  // more private data than a return probe may have
	ENOMEM     Errno = 12 // no executable memory within reach
	EBUSY      Errno = 16 // somebody else changes the path at a ftrace site
	EEXIST     Errno = 17 // a jprobe where there is one
	EINVAL     Errno = 22 // registered already, or not registered; refused text
	ENOSPC     Errno = 28 // an instruction so long that no breakpoint fits behind its copy
	EILSEQ     Errno = 84 // not an instruction boundary, or a breakpoint or trap by itself (spec 6.2)
	EOPNOTSUPP Errno = 95 // an instruction that can be neither stepped nor emulated
)

func (e Errno) Error() string {
	if name := kpev.ErrnoName(uint64(e)); name != "" {
		return "-" + name
	}
	return fmt.Sprintf("errno %d", int(e))
}
