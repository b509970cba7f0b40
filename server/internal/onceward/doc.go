// Package onceward is the domain: what a claim is, who may hold it, and what
// every call on it answers.
//
// A claim is the right to perform the side effect of one event. Its record is
// absent, in progress (held under a lease), released, completed, failed
// (terminally) or parked. The decisions are pure functions from a record, a
// request and the store's time to a verdict and the next record; they read like
// the tables in the contract's comments. The embedded store runs them as they
// are, the Redis store says the same in Lua, and one suite (package
// oncewardtest) holds them together.
//
// Verdicts are values, never errors. An *Error means that the call was wrong or
// that the store could not be asked; it is neither permission nor "duplicate".
//
// The package knows neither gRPC nor Redis and imports the standard library
// only.
package onceward
