/*
 * The gallery's scenes from the embedded files, in the order in which a newcomer would try them.
 */
#include "server/files/gallery.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/files/assets.h"

/* These first, the rest follows in alphabetical order. */
static const char *const first[] = {"cone-on-cylinder", "paper-plane", "paper-circle",
                                    "cover-and-base", NULL};

static const asset *find_asset(const char *file)
{
    char path[STORE_NAME + 16];
    if (strlen(file) > STORE_NAME)
        return NULL;
    snprintf(path, sizeof path, "scenes/%s.json", file);
    return asset_find(path);
}

bool gallery_has(const char *file)
{
    return find_asset(file) != NULL;
}

json_t *gallery_load(gw_store *store, const char *file, int64_t *version, gw_error *error)
{
    assert(store && file);
    const asset *bundled = find_asset(file);
    if (version)
        *version = 0;
    if (bundled)
        return wire_parse_document(bundled->start, asset_size(bundled), error);
    return store_load(store, file, version, error);
}

/* The scene's file name in an asset's path; false where the asset is not a scene. */
static bool name_of(const asset *each, char file[STORE_NAME + 1])
{
    const char *name = each->path + strlen("scenes/"), *dot = strrchr(each->path, '.');
    if (strncmp(each->path, "scenes/", strlen("scenes/")) != 0 || !dot || dot - name > STORE_NAME)
        return false;
    memcpy(file, name, (size_t)(dot - name));
    file[dot - name] = 0;
    return true;
}

void gallery_first(char file[STORE_NAME + 1])
{
    for (int i = 0; first[i]; i++)
        if (find_asset(first[i])) {
            strcpy(file, first[i]);
            return;
        }
    for (const asset *each = assets; each->path; each++)
        if (name_of(each, file))
            return;
    file[0] = 0;
}

static void add_entry(json_t *list, const store_entry *entry, bool saved)
{
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:s, s:b}", "file", entry->file, "name",
                                    entry->name ? entry->name : entry->file, "description",
                                    entry->name ? entry->description : "This file is damaged.",
                                    "saved", saved));
}

static void add_bundled(json_t *list, const char *file)
{
    const asset *bundled = find_asset(file);
    json_t *document = wire_parse_document(bundled->start, asset_size(bundled), NULL);
    if (document)
        add_entry(list,
                  &(store_entry){file, store_string(document, "name"),
                                 store_string(document, "description")},
                  false);
    json_decref(document);
}

static void add_saved(void *list, const store_entry *entry)
{
    add_entry(list, entry, true);
}

static bool is_first(const char *file)
{
    for (int i = 0; first[i]; i++)
        if (strcmp(first[i], file) == 0)
            return true;
    return false;
}

json_t *gallery_list(gw_store *store, gw_error *error)
{
    json_t *list = json_array();
    char file[STORE_NAME + 1];
    for (int i = 0; first[i]; i++)
        if (find_asset(first[i]))
            add_bundled(list, first[i]);
    for (const asset *each = assets; each->path; each++)
        if (name_of(each, file) && !is_first(file))
            add_bundled(list, file);
    if (store_list(store, add_saved, list, error))
        return list;
    json_decref(list);
    return NULL;
}
