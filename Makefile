# Shortcuts only: nothing needs this file, each command can be typed by hand.
.PHONY: demo test quick ci bench build

demo: ; go run ./cmd/demo
test: ; go test ./...
bench: ; go run ./cmd/bench
build: ; CGO_ENABLED=0 go build -trimpath -o ticketrail ./cmd/ticketrail

# quick is what a change must pass before it is committed, ci what it must pass before it is on main.
quick:
	test -z "$$(gofmt -l cmd config deploy printer queue receiver)"
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	go test ./...
ci: ; bash .ci/run
