package smp

func forever() {
	select {} // want select
}
