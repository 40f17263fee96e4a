package kprobes

import (
	"encoding/binary"
	"strconv"
	"strings"

	processors "kpsim/smp/arch/target"
)

// specWords are the functions of the benches where instructions are numbers: each does what its namesake of x86 does,
// and leaves its argument until its second instruction. No rule of all processors calls those that are missing.
// flagged of ppc64le is stepped, which the others there aren't.
var specWords = map[processors.Processor]map[string]string{
	processors.RISCV64: {
		"victim":      "00050793 00378513 00008067",
		"other":       "0080006f 00100513 00200513 00008067",
		"outer":       "ff010113 00113423 00a13023 df5ff0ef 00013503 dedff0ef 00150513 00813083 01010113 00008067",
		"recurs":      "02050063 ff010113 00113423 fff50513 ff1ff0ef 00150513 00813083 01010113 00008067",
		"tail":        "00150513 bbdff06f",
		"leaver":      "00813083 01010113 00900513 00008067",
		"left":        "ff010113 00113423 fb9ff0ef 00800513 00813083 01010113 00008067",
		"tells":       "00008513 00008067",
		"asks":        "ff010113 00113423 fb9ff0ef 00813083 01010113 00008067",
		"__switch_to": "00050793 00078513 00008067",
		"loads":       "00052503 00008067",
		"mended":      "00052503 00008067",
		"calls":       "00008793 004000ef 00008513 00000597 ff458593 40b50533 00078093 00008067",
		"ender":       "ff010113 00113423 01001097 a98080e7 00813083 01010113 00008067",
		"caller":      "ff010113 00113423 000500e7 00813083 01010113 00008067",
		"crowded":     "00050793 00a787b3 00000013 00178513 00008067",
		"f":           "00000513 00000013 00008067 00000013 00008067",
		"plain":       "00050793 00008067",
	},
	processors.ARM64: {
		"victim":      "aa0003e9 91000d20 d65f03c0",
		"other":       "14000002 d2800020 d2800040 d65f03c0",
		"outer":       "a9be7bfd f9000be0 97ffff7e f9400be0 97ffff7c 91000400 a8c27bfd d65f03c0",
		"recurs":      "b40000c0 a9bf7bfd d1000400 97fffffd 91000400 a8c17bfd d65f03c0",
		"tail":        "91000400 17fffeef",
		"leaver":      "a8c17bfd d2800120 d65f03c0",
		"left":        "a9bf7bfd 97ffffef d2800100 a8c17bfd d65f03c0",
		"tells":       "aa1e03e0 d65f03c0",
		"asks":        "a9bf7bfd 97ffffef a8c17bfd d65f03c0",
		"__switch_to": "aa0003e9 aa0903e0 d65f03c0",
		"loads":       "b9400000 d65f03c0",
		"mended":      "b9400000 d65f03c0",
		"calls":       "aa1e03e9 94000001 aa1e03e0 10ffffa1 cb010000 aa0903fe d65f03c0",
		"ender":       "a9bf7bfd 944002a7 a8c17bfd d65f03c0",
		"caller":      "a9bf7bfd d63f0000 a8c17bfd d65f03c0",
		"crowded":     "aa0003e9 8b000129 d503201f 91000520 d65f03c0",
		"f":           "d2800000 d503201f d65f03c0 d503201f d65f03c0",
		"plain":       "aa0003e9 d65f03c0",
	},
	processors.PPC64LE: {
		"victim": "7c691b78 38690003 4e800020",
		"other":  "48000008 38600001 38600002 4e800020",
		"outer": "7c0802a6 f8010010 f821ffd1 f8610020 4bfffdf1 e8610020 4bfffde9 " +
			"38630001 38210030 e8010010 7c0803a6 4e800020",
		"recurs": "28230000 4d820020 7c0802a6 f8010010 f821ffe1 3863ffff 4bffffe9 " +
			"38630001 38210020 e8010010 7c0803a6 4e800020",
		"tail":        "38630001 4bfffbbc",
		"leaver":      "38210020 e8010010 7c0803a6 38600009 4e800020",
		"left":        "7c0802a6 f8010010 f821ffe1 4bffffb5 38600008 38210020 e8010010 7c0803a6 4e800020",
		"tells":       "7c6802a6 4e800020",
		"asks":        "7c0802a6 f8010010 f821ffe1 4bffffb5 38210020 e8010010 7c0803a6 4e800020",
		"__switch_to": "7c691b78 7d234b78 4e800020",
		"loads":       "80630000 4e800020",
		"mended":      "80630000 4e800020",
		"calls":       "7d2802a6 48000005 7c6802a6 48000005 7c8802a6 7c641850 7d2803a6 4e800020",
		"ender":       "7c0802a6 f8010010 f821ffe1 49000a95 38210020 e8010010 7c0803a6 4e800020",
		"caller":      "7c0802a6 f8010010 f821ffe1 7c6903a6 4e800421 38210020 e8010010 7c0803a6 4e800020",
		"crowded":     "7c691b78 7d291a14 60000000 38690001 4e800020",
		"f":           "38600000 60000000 4e800020 60000000 4e800020",
		"flagged":     "7c631e14 4e800020",
		"plain":       "7c691b78 4e800020",
		"traced":      "7c0802a6 60000000 7c691b78 38690003 4e800020",
		"aside":       "7c0802a6 60000000 38600064 4e800020",
	},
}

// inWords returns a function as the processor of this process has it: without bytes, if there is no twin.
func inWords(c code) code {
	twins := specWords[specArch]
	if twins == nil {
		return c
	}
	c.bytes = nil
	for w := range strings.FieldsSeq(twins[c.name]) {
		n, err := strconv.ParseUint(w, 16, 32)
		if err != nil {
			panic(err)
		}
		c.bytes = binary.LittleEndian.AppendUint32(c.bytes, uint32(n))
	}
	return c
}
