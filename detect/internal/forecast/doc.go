// Package forecast predicts what polling brings and costs, and compares its
// predictions with what then happened.
package forecast
