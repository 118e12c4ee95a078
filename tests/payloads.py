"""Texts that would run, load or hide something if a page obeyed them."""

PAYLOADS = [
    "<script>window.ran = 1</script>", "<img src=x onerror='window.ran = 1'>", "<svg onload='window.ran = 1'>",
    "</p><iframe srcdoc='<script>parent.ran = 1</script>'></iframe>", "javascript:window.ran = 1",
    "<a href='javascript:window.ran=1' autofocus onfocus='window.ran=1'>x</a>", "${window.ran = 1}", "{{window.ran=1}}",
    "\"><style>body{display:none}</style>", "<template><script>window.ran=1</script></template>", "\u202eevil\u202c",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css>", "<base href=http://127.0.0.1:9/>", "<meta http-equiv=refresh content=0>",
]  # fmt: skip
