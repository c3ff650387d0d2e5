//! Tests of the lines that texts in other languages stand for.

use super::rewrites;

/// The text after all rewrites; `None` if it is left as it is.
fn rewritten(text: &str) -> Option<String> {
    let mut whole = text.to_owned();
    for rewrite in rewrites(text)?.iter().rev() {
        whole.replace_range(rewrite.range.clone(), &rewrite.lines.join("\n"));
    }
    Some(whole)
}

#[test]
fn calls_of_other_languages() {
    for (text, expected) in [
        (
            "x = f(a=1)\ny = g(b=x[\"rows\"][0]['id'])",
            "x = f(a=1)\ny = g(b=${x.rows[0].id})",
        ),
        (
            "x = f()\ng(t=f\"It is {x.t}\")",
            "x = f()\ng = g(t=\"It is ${x.t}\")",
        ),
        (
            "const x = await f({ a: 1 });\nawait g({ b: x.c, d: `${x.d} there` });",
            "x = f(a=1)\ng = g(b=${x.c}, d=\"${x.d} there\")",
        ),
        (
            "const [a, b] = await Promise.all([f(1), g(2)]);",
            "a = f(1)\nb = g(2)",
        ),
        ("f(a=1) -> x\ng(b=x.c) -> y", "x = f(a=1)\ny = g(b=${x.c})"),
        (
            "1. Call `f(a=1)` and keep it as `x`.\n2. Then call `g(b=x.c)` and return the summary.",
            "x = f(a=1)\ng = g(b=${x.c})\nreturn [\"g\"]",
        ),
        (
            "1) Use f with a \"A\", b = 2 and save the result as now.\n2) Use g with t \"${now.t}\".",
            "now = f(a=\"A\", b=2)\ng = g(t=\"${now.t}\")",
        ),
        ("- `x`: f with a = \"A\", b = 2", "x = f(a=\"A\", b=2)"),
        (
            "Step 1: f {\"a\": 2} => x\nStep 2: g {\"b\": \"${x.c}\"}",
            "x = f(a=2)\ng = g(b=\"${x.c}\")",
        ),
        (
            "STEP x: f(a=2)\nSTEP y: g(b=$x.c) AFTER x",
            "x = f(a=2)\ny = g(b=${x.c}) {\"after\": [\"x\"]}",
        ),
        ("x <- f(a: 1)\nreturn x", "x = f(a=1)\nreturn ${x}"),
        ("x = f()\nprint(x.a)", "x = f()\nreturn ${x.a}"),
        // Calls that a program makes in order would run at once in a plan, so the plan states the order.
        (
            "f(a=1)\ng(b=2)",
            "plan {\"ordering\": \"listed\"}\nf = f(a=1)\ng = g(b=2)",
        ),
        (
            "x = f(a=1)\nawait g(b=2)",
            "plan {\"ordering\": \"listed\"}\nx = f(a=1)\ng = g(b=2)",
        ),
        (
            "const [a, b] = await Promise.all([f(1), g(2)]);\nawait h({c: [a, b]});",
            "a = f(1)\nb = g(2)\nh = h(c=[${a}, ${b}])",
        ),
        (
            "1. Call f(a=1).\n2. Finally call g(b=2).",
            "plan {\"ordering\": \"listed\"}\nf = f(a=1)\ng = g(b=2)",
        ),
        (
            "x = f(a='1')\ny = g(b=f'{x.c}')\nz = h(c='2')",
            "x = f(a='1')\ny = g(b=\"${string(x.c)}\")\nz = h(c='2')",
        ),
        (
            "const auth = require('auth');\nauth.require(user=\"x\")",
            "\nrequire = auth.require(user=\"x\")",
        ),
        ("[f(a=1), f(a=2)]", "f = f(a=1)\nf_2 = f(a=2)"),
        (
            "Thought: first\nAction: f\nAction Input: {\"a\": 1}\nThought: then\nAction: g\nAction Input: {}",
            "Thought: first\nplan {\"ordering\": \"listed\"}\nf = f(a=1)\nThought: then\ng = g()",
        ),
        (
            "x = f()\nif x.t > 3 and x.u:\n    g(a=1)\nelse:\n    h(a=2)",
            "plan {\"ordering\": \"listed\"}\nx = f()\n\ng = g(a=1) {\"when\": ${x.t > 3 && x.u}}\n\nh = h(a=2) {\"when\": ${!(x.t > 3 && x.u)}}",
        ),
        (
            "const x = await f();\nfor (const r of x.rows) {\n  await g({ a: r.id });\n}",
            "x = f()\n\ng = g(a=${r.id}) {\"for_each\": ${x.rows}, \"as\": \"r\", \"max_parallel\": 1}\n",
        ),
        (
            "n = [\"a\", 'b']\nx = f(v=n)",
            "n = {\"value\": [\"a\", \"b\"]}\nx = f(v=${n})",
        ),
        (
            "x = f()\nn = x.rows[0]\ny = g(v=n.id)",
            "x = f()\nn = ${x.rows[0]}\ny = g(v=${n.id})",
        ),
        (
            "x = f()\ny = g(t=f\"${x.t}\")",
            "x = f()\ny = g(t=\"$$${x.t}\")",
        ),
        (
            "f(1) | g | h(c=2)",
            "f = f(1)\ng = g(${f})\nh = h(${g}, c=2)",
        ),
        (
            "import asyncio\n\nasync def main():\n    x = await f(a=1)\n    return x\n\nasyncio.run(main())",
            "\n\n\nx = f(a=1)\nreturn ${x}\n\n",
        ),
        (
            "@flow\ndef main(session: ClientSession):\n    x = session.call_tool('f')",
            "\n\nx = f()",
        ),
        (
            "export async function main(): Promise<void> {\n  const x = await tools.f({ a: 1 });\n}",
            "\nx = f(a=1)\n",
        ),
        (
            "x = await session.call_tool(\"f\", {\"a\": 1})\ny = client.callTool({name: \"g\", arguments: {b: x.c}})",
            "x = f(a=1)\ny = g(b=${x.c})",
        ),
        (
            "1. **Look** – `f(a=1)` → `x`\n2. **Say:** `g(t=\"{x.t} of {x}\")`",
            "x = f(a=1)\ng = g(t=\"${x.t} of ${x}\")",
        ),
        (
            "x = f()\nfor each r in x.rows: g(a=r.id) -> y\nif x.ok: h()",
            "plan {\"ordering\": \"listed\"}\nx = f()\ny = g(a=${r.id}) {\"for_each\": ${x.rows}, \"as\": \"r\", \"max_parallel\": 1}\nh = h() {\"when\": ${x.ok}}",
        ),
        (
            "x = f()\ny = [g(a=r[\"id\"]) for r in x[\"rows\"]]",
            "x = f()\ny = g(a=${r.id}) {\"for_each\": ${x.rows}, \"as\": \"r\", \"max_parallel\": 1}",
        ),
        (
            "x = f()\nif x.c == \"US$ and more\" and not x.d is None:\n    g(t=x[\"d\"]-1)",
            "x = f()\n\ng = g(t=${x.d - 1}) {\"when\": ${x.c == \"US$ and more\" && !(x.d == null)}}",
        ),
        (
            "x = f()\ng(t=${x.d / 2}, u=\"it's \u{2026}\")",
            "x = f()\ng = g(t=${x.d / 2}, u=\"it's \u{2026}\")",
        ),
    ] {
        assert_eq!(rewritten(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn texts_with_another_meaning_are_left() {
    for text in [
        "x = f(a=1)",
        "x = gather(gather(f()))",
        "x = f()\nvar y = require(\"a\" + g(\"b\"))",
        "1. Call `f(a=1)` only if it rains.",
        "x = f()\ng(b=y.c)",
        "x = f()\nwhile x.t:\n    g()",
        "x = f()\nfor r in x.rows:\n    a = g(r.id)\n    h(a.b)",
        "x = f()\nif x.t:\n    if x.u:\n        g()",
        "x = f()\nt = f\"{x.t:.2f}\"",
        "def main(a):\n    x = f()",
        "def main():\n    x = f()\ndef other():\n    y = g()",
        "export async function main() {\n  const x = await f();",
        "**If it rains**: f(a=1)",
        "x = f()\nfor each r in x.rows: g(a=r) and h()",
        "await session.call_tool(name, {\"a\": 1})",
        "x = f(g(1))",
        "x = f()\nx += g()",
        "x = f()\nif x.t:\n    return g()\nh()",
        "Call f first, then mail it.",
        "Action: f\nAction: g\nAction Input: {}",
        "Action: f\nx = g(text=f'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')\nAction Input: {}",
        "Action: f\nx = g(a=1)\nAction Input: {}",
        "Action: f\n# why\nAction Input: {}",
        "x = f()\ng(t=\"hot\" \u{2026})",
        "x = f()\ng(t=\"hot\u{2026})",
        "x = f()\ng(t=f\"{x.t}\" + x.u)",
        "x = f()\ng(t=\"a\"\"b\")",
        "x = f()\ng(t=f\"{x.t}}}\")",
        "x = f()\ng(t=`\\${x.t}`)",
        "x = f()\ng(t=x.t // 2)",
        "x = f()\ng(t=x.t / 2)",
        "x = f()\ng(t=x.t % 2)",
        "x = f()\ng(t=x.t or \"none\")",
        "x = f()\ng(t=x.t ?? \"none\")",
        "x = f()\ng(t=x.t[1:2])",
        "x = f()\ng(t=all(x.t))",
        "x = f()\ng(t=', '.join(x.t))",
        "x = f()\nif 1 < x.t < 3:\n    g()",
        "x = f()\nif x.t is x.u:\n    g()",
        "x = f()\nif \"a\" in \"abc\":\n    g()",
        "x = f()\nif x.t:\n    g()\nelse: h()",
        "const x = await f();\nif (x.t) {\n  await g();\n} else if (x.u) {\n  await h();\n}",
        "const x = await f();\nfor (const r in x.rows) {\n  await g({ a: r });\n}",
        "last = f()\ng(t=last.t)\nh(t=f'{last.t}')",
        "x = f()\ny = g().rows\nh(t=y)",
        "x = f()\ng() and return only if ok",
        "x = f()\ng() and return the first",
        "x = f()\ng() and keep the first as y",
        "x = f()\ng() as needed",
        "x = f()\nunless: g()",
        "",
        "(",
        "f(",
        "}",
        "x = f()\n}\n",
        "x = f(\"",
        "é = ü(\u{fe0f}",
    ] {
        assert_eq!(rewritten(text), None, "{text}");
    }
}

#[test]
fn deep_texts_are_left() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("gather(", ")"), ("(", ")")] {
        for count in [60, 500, 1200] {
            let text = format!("x = f(a={}1{})", open.repeat(count), close.repeat(count));
            let _ = rewritten(&text);
            let text = format!("x = {}f(){}", open.repeat(count), close.repeat(count));
            let _ = rewritten(&text);
        }
    }
}
