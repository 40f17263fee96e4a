go install ./cmd/kpsim
