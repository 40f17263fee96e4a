package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// retold has the flags of kpsim explore and kpsim fuzz whose meaning differs in a campaign.
var retold = map[string]string{
	"run --workers": "How many units this process makes at once, each on a core of its own. A unit is a part of a " +
		"scenario's runs, half a second to eight seconds of a core. 0 (the default): one per processor. 1 leaves the " +
		"other processors to other programs; more than there are processors gains nothing. The report is the same " +
		"with any number. Other processes help with kpsim-campaign work.",
	"fuzz --workers": "How many units this process makes at once, each on a core of its own. A unit is one of " +
		"--islands parts of a round, so more workers than --islands are idle. 0 (the default): one per processor. The " +
		"report is the same with any number. Other processes help with kpsim-campaign work.",
}

// notHere has the flags of kpsim explore that a campaign refuses: help doesn't offer them.
var notHere = map[string]bool{
	"run --shard": true, "run --out": true, "run --self-check": true,
	"start --shard": true, "start --out": true, "start --self-check": true, "start --workers": true,
}

// retell replaces their texts in the help.
func retell(at *kong.Node) error {
	told := 0
	for _, n := range at.Children {
		for _, f := range n.Flags {
			name := n.Name + " --" + f.Name
			if says, ok := retold[name]; ok {
				f.Help, told = says, told+1
			}
			if notHere[name] {
				f.Hidden, told = true, told+1
			}
		}
	}
	if all := len(retold) + len(notHere); told != all {
		return fmt.Errorf("the help of %d flags differs in a campaign, but only %d of them exist", all, told)
	}
	return nil
}
