// Package onlinux makes a scenario one of a kernel's own engine.
//
//	err := onlinux.Set(sc, k)
//
// What it is not: it opens no kernel (package linux) and boots none (linux/boot).
//
// Its rule: what a kernel can't run is an error that names the part of the scenario, and what to leave out.
package onlinux
