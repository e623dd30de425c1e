//go:build apidocs

// Command walk takes a short walk through a running service with the client that oapi-codegen makes:
// go run walk.go api.go <address> <key>.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	log.SetFlags(0)
	if err := walk(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
	fmt.Println("oapi-codegen: walked")
}

func walk(ctx context.Context, address, key string) error {
	api, err := NewClientWithResponses(address, WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-Api-Key", key)
		return nil
	}))
	if err != nil {
		return err
	}
	health, err := api.HealthWithResponse(ctx)
	if err != nil || health.JSON200 == nil {
		return fmt.Errorf("health: %v", err)
	}
	made, err := api.CreateMonitorWithResponse(ctx, &CreateMonitorParams{}, MonitorCreate{Name: "walk go", Usernames: []string{"nasa"}})
	if err != nil || made.JSON201 == nil {
		return fmt.Errorf("create: %s, %v", made.Body, err)
	}
	id := made.JSON201.Id
	paused, err := api.UpdateMonitorWithResponse(ctx, id, &UpdateMonitorParams{}, MonitorUpdate{Status: new(MonitorUpdateStatusPaused)})
	if err != nil || paused.JSON200 == nil || *paused.JSON200.StatusReason != "paused_by_user" {
		return fmt.Errorf("pause: %s, %v", paused.Body, err)
	}
	list, err := api.ListMonitorsWithResponse(ctx, &ListMonitorsParams{PageSize: new(100)})
	if err != nil || list.JSON200 == nil || list.JSON200.Total == 0 {
		return fmt.Errorf("list: %s, %v", list.Body, err)
	}
	deleted, err := api.DeleteMonitorWithResponse(ctx, id, &DeleteMonitorParams{})
	if err != nil || deleted.StatusCode() != http.StatusNoContent {
		return fmt.Errorf("delete: %s, %v", deleted.Body, err)
	}
	gone, err := api.GetMonitorWithResponse(ctx, id)
	if err != nil || gone.JSON404 == nil || gone.JSON404.Detail != "monitor not found" {
		return fmt.Errorf("get: %s, %v", gone.Body, err)
	}
	return nil
}
