package smp_test
import ("testing";"fmt";"kpsim/sim";"math/bits")
type spy struct{ sim.Chooser }
func (s spy) Choose(p *sim.Point) (int,int) {
 a,b := s.Chooser.Choose(p)
 tot := bits.OnesCount64(p.Moves[0])+bits.OnesCount64(p.Moves[1])+bits.OnesCount64(p.Moves[2])
 in := p.Moves[p.First/64]>>(p.First%64)&1
 if p.Kind==sim.Step && (a>=p.N||tot!=p.N||in==0) { fmt.Printf("%+v pick %d hold %d tot %d in %d\n", *p,a,b,tot,in); panic("x") }
 return a,b
}
func TestZZ(t *testing.T) {
	for name, ch := range schedules(3) {
		fmt.Println(name)
		used := newEndings(t)
		for i := range allEndings {
			used.end(i, spy{ch})
			for j := range allEndings { used.end(j, sim.Always0{}) }
		}
	}
}
