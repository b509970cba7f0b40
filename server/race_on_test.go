//go:build race

package main

// raceDetector: the servers that the tests start are built as the tests are.
const raceDetector = true
