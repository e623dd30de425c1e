// Package social has the code that fake platforms share: authors and posts in the form of package
// fetcher, ids that contain times, and a rate limit.
package social
