package kpev

import "fmt"

// Errnos lists the errors that the probes' API, insmod and rmmod return, by number
// (include/uapi/asm-generic/errno-base.h, errno.h). ApiReturn carries the positive number.
var Errnos = [...]struct {
	Name string
	N    uint64
}{{"ENOENT", 2}, {"E2BIG", 7}, {"EAGAIN", 11}, {"ENOMEM", 12}, {"EBUSY", 16}, {"EEXIST", 17}, {"ENODEV", 19},
	{"EINVAL", 22},
	{"ENOSPC", 28}, {"ENOSYS", 38}, {"EILSEQ", 84}, {"EOPNOTSUPP", 95}}

// ErrnoName returns the name of an errno, or "" if Errnos doesn't list it.
func ErrnoName(n uint64) string {
	for _, e := range Errnos {
		if e.N == n {
			return e.Name
		}
	}
	return ""
}

// Errno formats a result of the API for people: "EILSEQ (-84)", "0".
func Errno(n uint64) string {
	switch name := ErrnoName(n); {
	case n == 0:
		return "0"
	case name == "":
		return fmt.Sprintf("-%d", n)
	default:
		return fmt.Sprintf("%s (-%d)", name, n)
	}
}
