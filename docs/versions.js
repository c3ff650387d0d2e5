// The menu of versions, and the notice that a newer one exists. `packaging/pack site` puts each version of the book into a folder of its own, `X.Y`, with
// `versions.json` beside these folders: a list of their names, the newest first. Published pages keep this script, so the form of that list never
// changes. Without the list, as in a book that is built alone, there is nothing to show.
(async () => {
    "use strict";
    // mdBook defines `path_to_root` in each page; it is empty in those at the root.
    const root = new URL(path_to_root || "./", location.href);
    const here = root.pathname.split("/").at(-2);
    if (!/^\d+\.\d+$/.test(here)) {
        return;
    }
    const response = await fetch(new URL("../versions.json", root)).catch(() => null);
    const versions = response?.ok ? await response.json() : [];
    if (!versions.includes(here)) {
        return;
    }
    const page = location.pathname.slice(root.pathname.length);

    /** The address of this page in another version, or that of its first page if it has no such page. */
    const addressIn = async (version) => {
        const other = new URL(`../${version}/`, root);
        const same = new URL(page, other);
        const found = await fetch(same, { method: "HEAD" }).catch(() => null);
        return found?.ok ? same.href + location.hash : other.href;
    };

    const element = (name, attributes, ...children) => {
        const made = Object.assign(document.createElement(name), attributes);
        made.append(...children);
        return made;
    };

    const select = element("select", {}, ...versions.map((version) => new Option(version, version, version === here, version === here)));
    // A button rather than a change of the selection leads away: the arrow keys change the selection of a closed menu.
    const form = element("form", { className: "versions" }, element("label", {}, "Version ", select), element("button", {}, "Go"));
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        location.assign(await addressIn(select.value));
    });
    // The book turns its pages with the arrow keys, and searches with a letter.
    form.addEventListener("keydown", (event) => event.stopPropagation());
    document.querySelector(".right-buttons").prepend(form);

    const newest = versions[0];
    if (here !== newest) {
        const link = element("a", { href: await addressIn(newest) }, `version ${newest}`);
        const notice = element("p", { className: "newer-version" }, `This page is about version ${here}. The newest is `, link, ".");
        notice.setAttribute("role", "note");
        document.querySelector("main").prepend(notice);
    }
})();
