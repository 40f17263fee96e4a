package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// campaignHelp has the flags of kpsim explore and kpsim fuzz whose meaning differs in a campaign.
var campaignHelp = map[string]string{
	"run --workers": "How many units this process makes at once, each on a core of its own. A unit is a part of a " +
		"scenario's runs, half a second to eight seconds of a core. 0 (the default): one per processor. 1 leaves the " +
		"other processors to other programs; more than there are processors gains nothing. The report is the same " +
		"with any number. Other processes help with kpsim-campaign work.",
	"fuzz --workers": "How many units this process makes at once, each on a core of its own. A unit is one of " +
		"--islands parts of a round, so more workers than --islands are idle. 0 (the default): one per processor. The " +
		"report is the same with any number. Other processes help with kpsim-campaign work.",
}

// hiddenFlags has the flags of kpsim explore that a campaign refuses: help doesn't offer them.
var hiddenFlags = map[string]bool{
	"run --shard": true, "run --out": true, "run --self-check": true, "run --small": true, "run --drawn": true,
	"start --shard": true, "start --out": true, "start --self-check": true, "start --small": true,
	"start --drawn": true, "start --workers": true,
}

// replaceHelp puts the texts of campaignHelp into the help, and hides hiddenFlags.
func replaceHelp(at *kong.Node) error {
	replaced := 0
	for _, n := range at.Children {
		for _, f := range n.Flags {
			name := n.Name + " --" + f.Name
			if says, ok := campaignHelp[name]; ok {
				f.Help, replaced = says, replaced+1
			}
			if hiddenFlags[name] {
				f.Hidden, replaced = true, replaced+1
			}
		}
	}
	if all := len(campaignHelp) + len(hiddenFlags); replaced != all {
		return fmt.Errorf("the help of %d flags differs in a campaign, but only %d of them exist", all, replaced)
	}
	return nil
}
