package redisstore

import (
	"context"

	"github.com/streamwatch/streamwatch/fleet"
)

// answers implements fleet.Answers.
type answers struct{ s *Store }

// Answers returns the store of answers to requests that clients may repeat. It stores them
// unencrypted unless streamwatch.Config.Sealer is set.
func (s *Store) Answers() fleet.Answers { return answers{s} }

func (a answers) Begin(ctx context.Context, q fleet.Request) (*fleet.Answer, error) {
	out, err := a.s.run(ctx, "answers_begin", "", escaped(q.Owner), q.ID, q.Asked, q.By, stamp(a.s.opts.Now().Add(q.Lease)))
	if err != nil {
		return nil, err
	}
	switch text(out[0]) {
	case "other":
		return nil, fleet.ErrOtherRequest
	case "underway":
		return nil, fleet.ErrUnderWay
	case "answer":
		return &fleet.Answer{By: text(out[1]), Text: []byte(text(out[2]))}, nil
	}
	return nil, nil
}

func (a answers) Finish(ctx context.Context, q fleet.Request, answer []byte) error {
	out, err := a.s.run(ctx, "answers_finish", "", escaped(q.Owner), q.ID, q.By, stamp(a.s.opts.Now().Add(fleet.AnswerLast)), answer,
		fleet.MaxAnswersOf, fleet.MaxAnswers, fleet.MaxAnswerBytes)
	if err == nil && text(out[0]) == "other" {
		err = fleet.ErrNotBegun
	}
	return err
}
