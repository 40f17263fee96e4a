package kernel

type rcu struct{ gp, idle int }

func (r *rcu) start() { r.gp++ } // want owner
