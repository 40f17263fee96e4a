package fuzz

import ("testing";"fmt";"os";"strconv";"kpsim/internal/scenario/act";"kpsim/internal/scenario/gen"; "kpsim/internal/scenario/lang";"kpsim/internal/search/explore")

func TestHandsTry(t *testing.T) {
	from, _ := strconv.Atoi(os.Getenv("FROM")); to, _ := strconv.Atoi(os.Getenv("TO"))
	n, bad := 0, map[string]int{}
	for seed := uint64(from); seed < uint64(to); seed++ {
		sc, _ := gen.Of(&gen.Recipe{Seed: seed}, gen.On{})
		if !sc.Does(act.Protect) { continue }
		n++
		r, err := explore.Run(explore.Spec{Scenario: sc, Runs: 60, Seed: 1, Workers: 1, Blind: true, Strategy: explore.DefaultStrategy})
		if err != nil { bad["error"]++; fmt.Println(seed, "ERROR", err); continue }
		if len(r.Broken) > 0 { os.WriteFile(fmt.Sprintf("/tmp/three/s%d.star", seed), []byte(lang.Print(sc)), 0o644) }
		for k, v := range r.Broken { bad[k]++; if bad[k] < 5 { fmt.Println(seed, k, v) } }
	}
	fmt.Println(n, bad)
}
