package client

import (
	"time"

	"google.golang.org/protobuf/proto"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// maxStreamed is the largest operation, in bytes, that goes over a stream: a
// larger one would hold up all others, and one beyond the server's limit would
// end the stream for everybody.
const maxStreamed = 256 << 10

// operation is one call's way over the stream. All but the first two fields
// belong to the multiplexer's mutex.
type operation struct {
	encoded []byte
	done    chan outcome // takes one without blocking

	id     uint64    // on the stream it was sent on; 0 while it is queued
	sentAt time.Time // of the last send
	breaks int       // streams that broke under it, but for ordinary reasons
	gone   bool      // the caller no longer waits
}

type outcome struct {
	result *oncewardv1.OperationResult
	err    error
}

// encode is the operation as a field of a StreamRequest. It is encoded before the
// call can return, since the caller may change its request afterwards. Nil: it
// does not belong on a stream, because it cannot be encoded (text that is not
// UTF-8, which would end the stream) or is too large.
func encode(op *oncewardv1.Operation) []byte {
	encoded, err := proto.Marshal(&oncewardv1.StreamRequest{Operation: op})
	if err != nil || len(encoded) > maxStreamed {
		return nil
	}
	return encoded
}

// request is the operation under its id. Fields that a message does not know are
// written as they are, after those it knows: that is what the encoded operation
// is passed off as.
func (o *operation) request() *oncewardv1.StreamRequest {
	r := &oncewardv1.StreamRequest{Id: o.id}
	r.ProtoReflect().SetUnknown(o.encoded)
	return r
}
