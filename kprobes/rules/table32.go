package rules

// rows32 are the differences of i386: 66 shortens the displacement of a branch.
var rows32 = []row{
	{map1, noPrefix, immZ, "e8 e9"},
	{map0F, noPrefix, immZ, "80-8f"},
}
