package rules

// rows are the opcodes that all these kernels know. The operands and immediates are
// those of the SDM (vol. 2, tables ); which opcodes a kernel knows, and with
// which prefixes, follows from the kernels' answers.
//
// An opcode without a row has no operands: known or not, the decoder takes its bytes
// for the whole instruction. After VEX, and where only VEX makes it an instruction, it
// is an error.
var rows = []row{
	// One byte.
	// 62, c4, c5: of 32-bit mode,
	{map1, noPrefix, legacyOnly, "00-03 08-0b 10-13 18-1b 20-23 28-2b 30-33 38-3b 62 63 84-8f c4 c5 d0-d3 d8-df fe ff"},
	{map1, noPrefix, immB, "04 0c 14 1c 24 2c 34 3c 6a 70-7f a8 b0-b7 cd d4 d5 e0-e7 eb"},
	{map1, noPrefix, immZ, "05 0d 15 1d 25 2d 35 3d 68 a9"},
	{map1, noPrefix, legacyOnly | immZ, "69 81 c7"},
	{map1, noPrefix, legacyOnly | immB, "6b 80 82 83 c0 c1 c6"},
	{map1, noPrefix, immP, "9a ea"},
	{map1, noPrefix, immO, "a0-a3"},
	{map1, noPrefix, immV, "b8-bf"},
	{map1, noPrefix, immW, "c2 ca"},
	{map1, noPrefix, immWB, "c8"},
	{map1, noPrefix, immD, "e8 e9"}, // 66 doesn't shorten what is 64 bits wide by default
	{map1, noPrefix, legacyOnly | group3B, "f6"},
	{map1, noPrefix, legacyOnly | group3V, "f7"},

	// Two bytes: 0f.
	{map0F, noPrefix, legacyOnly,
		"00-03 0d 13 18 1a-1c 1e 1f 20-23 2a 2c 2d 40 43 48 49 4c-4f 60-6b 6e 6f 74-76 7e 7f 94-97 9a-9f a3 " +
			"a5-a7 ab ad af b0-b7 b9 bb-bf c0 c1 c3 c7 d1-d5 d7-e5 e7-ef f1-fe"},
	{map0F, noPrefix, legacyOnly | immB, "0f 70 a4 ac ba c4 c5"},
	{map0F, noPrefix, both, "10-17 28 29 2b 2e 2f 41 42 44-47 4a 4b 50-5f 78 79 90-93 98 99"},
	{map0F, noPrefix, both | immB, "c2 c6"},
	{map0F, noPrefix, attrVex, "77"},
	{map0F, noPrefix, immD, "80-8f"},
	{map0F, noPrefix, legacyOnly | group12, "71"},
	{map0F, noPrefix, legacyOnly | group13, "72"},
	{map0F, noPrefix, legacyOnly | group14, "73"},
	{map0F, noPrefix, legacyOnly | group15, "ae"},
	{map0F, prefix66, both, "10-17 28 29 2b 2e 2f 41 42 44-47 4a 4b 50 51 54-5f 60-6f 74-76 7c-7f 90-93 98 99 " +
		"d0-e6 e7-ef f1-fe"},
	{map0F, prefix66, both | immB, "70 c2 c4-c6"},
	{map0F, prefix66, legacyOnly, "1a 1b 2a 2c 2d bc bd"},
	{map0F, prefix66, evexOnly, "78-7b"},
	{map0F, prefixF3, both, "10-12 16 2a 2c 2d 51-53 58-5f 6f 7e 7f e6"},
	{map0F, prefixF3, both | immB, "70 c2"},
	{map0F, prefixF3, legacyOnly, "1a 1b b8 bc bd d6"},
	{map0F, prefixF3, evexOnly, "78-7b"},
	{map0F, prefixF2, both, "10-12 2a 2c 2d 51 58-5a 5c-5f 7c 7d 92 93 d0 e6 f0"},
	{map0F, prefixF2, both | immB, "70 c2"},
	{map0F, prefixF2, legacyOnly, "1a 1b bc bd d6"},
	{map0F, prefixF2, evexOnly, "6f 78-7b 7f"},

	// 0f 38.
	{map0F38, noPrefix, legacyOnly, "00-0b 1c-1e c8-cd f0 f1 f6 f9"},
	{map0F38, noPrefix, both, "49 5e"},
	{map0F38, noPrefix, vexOnly, "f2 f5 f7"},
	{map0F38, noPrefix, legacyOnly | group17, "f3"},
	{map0F38, noPrefix, legacyOnly | group18, "c6 c7"},
	{map0F38, prefix66, both, "00-0b 10 14 15 17 1c-1e 20-25 28-2b 30-35 37-41 49 4b 50-53 5e cf db-df"},
	{map0F38, prefix66, vexOnly, "0c-0f 13 16 18-1a 2c-2f 36 45-47 58-5a 78 79 8c 8e 90-93 96-9f a6-af b6-bf f7"},
	{map0F38, prefix66, evexOnly,
		"11 12 1b 1f 26 27 42-44 4c-4f 54 55 5b 62-66 70-73 75-77 7a-7f 83 88-8b 8d 8f a0-a3 b4 b5 c4 c8 ca-cd"},
	{map0F38, prefix66, legacyOnly, "80-82 f0 f1 f5 f6 f8"},
	{map0F38, prefixF3, evexOnly, "10-15 20-2a 30-35 38-3a 52 72"},
	{map0F38, prefixF3, both, "5c 5e"},
	{map0F38, prefixF3, vexOnly, "4b f5 f7"},
	{map0F38, prefixF3, legacyOnly, "f6 f8"},
	{map0F38, prefixF2, both, "49 4b 5e"},
	{map0F38, prefixF2, evexOnly, "52 53 68 72 9a 9b aa ab"},
	{map0F38, prefixF2, vexOnly, "f5-f7"},
	{map0F38, prefixF2, legacyOnly, "f0 f1 f8"},

	// 0f 3a: all have an immediate byte.
	{map0F3A, noPrefix, legacyOnly | immB, "0f cc"},
	{map0F3A, noPrefix, both | immB, "08 0a"},
	{map0F3A, noPrefix, evexOnly | immB, "26 27 56 57 66 67 c2"},
	{map0F3A, prefix66, both | immB, "08-0f 14-17 20-22 40-42 44 4c 60-63 ce cf df"},
	{map0F3A, prefix66, vexOnly | immB, "00-02 04-06 18 19 1d 30-33 38 39 46 4a 4b"},
	{map0F3A, prefix66, evexOnly | immB, "03 1a 1b 1e 1f 23 25-27 3a 3b 3e 3f 43 50 51 54-57 66 67 70-73"},
	{map0F3A, prefixF3, evexOnly | immB, "c2"},
	{map0F3A, prefixF3, legacyOnly | immB, "f0"},
	{map0F3A, prefixF2, vexOnly | immB, "f0"},

	// EVEX maps 5 and 6: AVX512-FP16.
	{map5, noPrefix, evexOnly, "1d 2e 2f 51 58-5f 78 79 7c 7d"},
	{map5, prefix66, evexOnly, "1d 5a 5b 6e 78-7e"},
	{map5, prefixF3, evexOnly, "10 11 2a 2c 2d 51 58-5f 78 79 7b 7d"},
	{map5, prefixF2, evexOnly, "5a 7a 7d"},
	{map6, noPrefix, evexOnly, "13"},
	{map6, prefix66, evexOnly, "13 2c 2d 42 43 4c-4f 96-9f a6-af b6-bf"},
	{map6, prefixF3, evexOnly, "56 57 d6 d7"},
	{map6, prefixF2, evexOnly, "56 57 d6 d7"},
}

// groupRows are the rows of the groups that differ from their opcode.
var groupRows = []groupRow{
	{group3B, noPrefix, immB, "01"},
	{group3V, noPrefix, immZ, "01"},
	{group12, noPrefix, immB, "246"},
	{group12, prefix66, attrVex | immB, "246"},
	{group13, noPrefix, immB, "246"},
	{group13, prefix66, attrVex | immB, "01246"},
	{group14, noPrefix, immB, "26"},
	{group14, prefix66, attrVex | immB, "2367"},
	{group15, noPrefix, attrVex, "23"},
	{group15, prefix66, attrNothing, "67"},
	{group15, prefixF3, attrNothing, "012345"},
	{group17, noPrefix, attrVex, "123"},
	{group18, prefix66, attrVex, "1256"},
}
