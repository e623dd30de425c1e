package sqlite

import (
	"context"

	"github.com/streamwatch/streamwatch/fleet"
)

// answers implements fleet.Answers.
type answers struct{ s *Store }

// Answers returns the store of answers to requests that clients may repeat. It stores them
// unencrypted unless streamwatch.Config.Sealer is set.
func (s *Store) Answers() fleet.Answers { return answers{s} }

func (a answers) Begin(ctx context.Context, q fleet.Request) (kept *fleet.Answer, err error) {
	err = a.s.write(ctx, func(t *tx) error {
		kept = nil
		now := a.s.opts.Now()
		var asked, by string
		var text []byte
		found, err := one(t, `SELECT asked, holder, text FROM answers WHERE owner = ? AND id = ? AND until > ?`,
			[]any{q.Owner, q.ID, nanos(now)}, &asked, &by, &text)
		switch {
		case err != nil:
			return err
		case !found:
			// Delete an expired row first, because REPLACE would not fire the trigger answers_less.
			if err := t.exec(`DELETE FROM answers WHERE owner = ? AND id = ?`, q.Owner, q.ID); err != nil {
				return err
			}
			return t.exec(`INSERT INTO answers (owner, id, asked, holder, until) VALUES (?, ?, ?, ?, ?)`,
				q.Owner, q.ID, q.Asked, q.By, nanos(now.Add(q.Lease)))
		case asked != q.Asked:
			return fleet.ErrOtherRequest
		case text != nil:
			kept = &fleet.Answer{By: by, Text: text}
		case by != q.By:
			return fleet.ErrUnderWay
		}
		return nil
	})
	return kept, err
}

func (a answers) Finish(ctx context.Context, q fleet.Request, text []byte) error {
	return a.s.write(ctx, func(t *tx) error {
		var by string
		var answered bool
		_, err := one(t, `SELECT holder, text IS NOT NULL FROM answers WHERE owner = ? AND id = ?`, []any{q.Owner, q.ID}, &by, &answered)
		switch {
		case err != nil:
			return err
		case by != q.By:
			return fleet.ErrNotBegun
		case answered:
			return nil
		case len(text) == 0:
			return t.exec(`DELETE FROM answers WHERE owner = ? AND id = ?`, q.Owner, q.ID)
		}
		now := a.s.opts.Now()
		err = t.exec(`UPDATE answers SET text = ?, until = ?, place = (SELECT coalesce(max(place), 0) + 1 FROM answers) WHERE owner = ? AND id = ?`,
			text, nanos(now.Add(fleet.AnswerLast)), q.Owner, q.ID)
		if err != nil {
			return err
		}
		err = t.exec(`DELETE FROM answers WHERE (owner, id) IN (SELECT owner, id FROM answers WHERE until <= ? ORDER BY until LIMIT ?)`, nanos(now), removeStep)
		if err != nil {
			return err
		}
		err = t.exec(`DELETE FROM answers WHERE place <= (SELECT place FROM answers WHERE owner = ?1 AND place IS NOT NULL ORDER BY place DESC LIMIT 1 OFFSET ?2) AND owner = ?1`,
			q.Owner, fleet.MaxAnswersOf)
		if err != nil {
			return err
		}
		return boundAnswers(t)
	})
}

// boundAnswers removes the oldest answers of all owners until the limits on their number and bytes
// are met.
func boundAnswers(t *tx) error {
	for {
		var count, bytes int
		if _, err := one(t, `SELECT answers, answer_bytes FROM totals`, nil, &count, &bytes); err != nil {
			return err
		}
		if count <= fleet.MaxAnswers && bytes <= fleet.MaxAnswerBytes {
			return nil
		}
		if err := t.exec(`DELETE FROM answers WHERE place = (SELECT min(place) FROM answers)`); err != nil {
			return err
		}
	}
}
