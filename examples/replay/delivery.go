package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Delivery is one attempt of a sender to deliver one event. The event is what
// is handled once; its deliveries are many.
type Delivery struct {
	Namespace   string          `json:"namespace"`
	EventID     string          `json:"event_id"`    // the same on every attempt
	DeliveryID  string          `json:"delivery_id"` // another on every attempt
	Entity      string          `json:"entity"`
	Type        string          `json:"type"`
	CreatedAt   time.Time       `json:"created_at"`
	DeliveredAt time.Time       `json:"delivered_at"`
	Payload     json.RawMessage `json:"payload"`
	Lost        lostReply       `json:"lost"`
	NeverSent   bool            `json:"never_sent,omitempty"` // an event that only its sender knows of
}

// lostReply says which reply gets lost on the way back.
type lostReply string

const (
	lostClaim    lostReply = "claim"    // Onceward's, to CheckAndClaim
	lostComplete lostReply = "complete" // Onceward's, to Complete
	lostAck      lostReply = "ack"      // the receiver's, to the sender
)

// event identifies an event: senders count on their own.
func (d Delivery) event() string { return d.Namespace + "/" + d.EventID }

// cents reads the amount: some senders write numbers, some write strings.
func (d Delivery) cents() (int64, error) {
	var payload struct {
		Amount json.Number `json:"amount"`
	}
	if err := json.Unmarshal(d.Payload, &payload); err != nil {
		return 0, fmt.Errorf("payload of %s: %w", d.event(), err)
	}
	return payload.Amount.Int64()
}

// made are the deliveries without the events that were never sent.
func made(deliveries []Delivery) []Delivery {
	return slices.DeleteFunc(slices.Clone(deliveries), func(d Delivery) bool { return d.NeverSent })
}

func load(file string) ([]Delivery, error) {
	content := shipped
	if file != "" {
		var err error
		if content, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return readDeliveries(bytes.NewReader(content))
}

func readDeliveries(r io.Reader) ([]Delivery, error) {
	var deliveries []Delivery
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var d Delivery
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("delivery %d: %w", len(deliveries)+1, err)
		}
		deliveries = append(deliveries, d)
	}
	return deliveries, lines.Err()
}

func writeDeliveries(w io.Writer, deliveries []Delivery) error {
	buffered := bufio.NewWriter(w)
	lines := json.NewEncoder(buffered)
	for _, d := range deliveries {
		if err := lines.Encode(d); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
