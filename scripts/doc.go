// Package scripts has the text of the scripts that kpsim itself runs or prints, so that an installed kpsim has them.
//
// What it is not: a way to run them, which is linux/compile's.
package scripts

import _ "embed" // the texts

// KernelObjects is scripts/kernel-objects, which says how a kernel's file is compiled.
//
//go:embed kernel-objects
var KernelObjects []byte

// MeasureProbes is scripts/measure-probes, which times probes on the machine that it runs on.
//
//go:embed measure-probes
var MeasureProbes []byte
