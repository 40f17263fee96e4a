package rules

// rows612 are the differences of 6.12: APX, Key Locker, AVX-VNNI-INT8 and -INT16,
// AVX-NE-CONVERT, AVX-IFMA, CMPccXADD, RAO-INT, SM3, SM4, SHA512 and user-mode MSRs
// (names as in Intel's Architecture Instruction Set Extensions Programming Reference).
// d5 is now the prefix REX2.
var rows612 = []row{
	{map0F38, noPrefix, both, "6c da"},
	{map0F38, noPrefix, vexOnly, "50 51 b0 d2 d3"},
	{map0F38, noPrefix, legacyOnly, "fc"},
	{map0F38, prefix66, both, "6c b4 b5 da e0-ef"},
	{map0F38, prefix66, vexOnly, "b0 b1 d2 d3"},
	{map0F38, prefix66, legacyOnly, "fc"},
	{map0F38, prefixF3, both, "72"},
	{map0F38, prefixF3, vexOnly, "50 51 b0 b1 d2 d3 da"},
	{map0F38, prefixF3, legacyOnly, "d8 dc-df fa-fc"},
	{map0F38, prefixF2, both, "5c"},
	{map0F38, prefixF2, vexOnly, "50 51 b0 cb-cd da"},
	{map0F38, prefixF2, legacyOnly, "fc"},
	{map0F3A, prefix66, both | immB, "de"},

	// EVEX map 4: the old integer instructions, with APX.
	{map4, noPrefix, evexOnly, "00 02 08 0a 10 12 18 1a 20 22 28 2a 30 32 38 3a 66 84 8f f9"},
	{map4, noPrefix, scalable,
		"01 03 09 0b 11 13 19 1b 21 23 29 2b 31 33 39 3b 40-4f 60 61 85 88 a5 ad af f0 f1 f4 f5"},
	{map4, noPrefix, scalable | immB, "24 2c 6b"},
	{map4, noPrefix, scalable | immZ, "69"},
	{map4, noPrefix, evexOnly | groupAny | immB, "80 c0"},
	{map4, noPrefix, scalable | groupAny | immZ, "81"},
	{map4, noPrefix, scalable | groupAny | immB, "83 c1"},
	{map4, noPrefix, evexOnly | groupAny, "d0 d2 fe"},
	{map4, noPrefix, scalable | groupAny, "d1 d3 ff"},
	{map4, noPrefix, evexOnly | group3B, "f6"},
	{map4, noPrefix, scalable | group3V, "f7"},
	{map4, prefix66, scalable, "01 03 09 0b 11 13 19 1b 21 23 29 2b 31 33 39 3b 40-4f 60 61 85 88 a5 ad af f1 f4 f5"},
	{map4, prefix66, scalable | immB, "24 2c 6b"},
	{map4, prefix66, scalable | immZ, "69"},
	{map4, prefix66, evexOnly, "65 66 f8"},
	{map4, prefixF3, evexOnly, "66 f0-f2 f8"},
	{map4, prefixF2, evexOnly, "40-4f f8"},

	{map7, prefixF3, both | immD, "f8"},
	{map7, prefixF2, both | immD, "f8"},
}
