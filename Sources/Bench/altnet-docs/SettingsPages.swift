import Agent
import AgentModel
import MQTTBridge

enum SettingsPages {
    private static let groups = Setting.groups + [BridgeOptions.settingGroup]

    static let file =
        """
        # Settings of altnet, the agent that keeps this device online.
        #
        # Every line that is commented out shows the default, or an example where the
        # default cannot be written. To change one, take the # away. Then:
        #
        #   altnet agent --check-config --settings /etc/altnet/altnet.conf
        #   systemctl reload altnet      takes over what says "on reload"
        #   systemctl restart altnet     takes over everything; the link stays up
        #
        # NAME=VALUE a line, as in systemd.exec(5), EnvironmentFile=. Values with spaces
        # at an end, quotes or backslashes go in quotes; no comment after a value. What
        # the service's environment sets counts before this file.

        """
        + groups.map { group in
            let title = "\n# ---- \(group.title) " + String(repeating: "-", count: 72 - group.title.count) + "\n"
            return title + group.settings.map(entry).joined()
        }.joined()

    private static func entry(_ setting: Setting) -> String {
        let standard =
            switch setting.standard {
            case .value: ""
            case .implied(let words, _): "Default: \(words)."
            }
        let allowed = "Allowed: \(setting.form.allowed)."
        let sentences = [setting.meaning, allowed, standard, "Takes effect on \(effect(setting))."]
        return "\n" + wrapped(sentences.joined(separator: " ")) + "#\(setting.name)=\(setting.example)\n"
    }

    private static func effect(_ setting: Setting) -> String {
        switch setting.effect {
        case .onReload: "reload"
        case .onRestart: "restart"
        }
    }

    private static func wrapped(_ text: String) -> String {
        var lines = ["#"]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + 1 + word.count > 79 { lines.append("#") }
            lines[lines.count - 1] += " \(word)"
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static let page =
        """
        # Settings

        The agent reads its settings from the file that `altnet agent --settings FILE` names (on a board
        `/etc/altnet/altnet.conf`, which has them all, commented out) and from environment variables of the same names,
        which count before the file. `altnet agent --check-config --settings FILE` reports everything that is wrong in one
        go, as `FILE:LINE: NAME is "found"; allowed: ...`, and exits with 78. It also checks the root key, the identity and
        the certificates, and notes what the agent would wait for.

        A line is `NAME=VALUE`, a comment that begins with `#` or `;`, or empty. White space around name and value does not
        count. A value that has quotes or backslashes, or white space that counts, goes in single quotes, or in double
        quotes with `\\` before `"`, `\\`, `` ` `` and `$`. All of this means the same in systemd's `EnvironmentFile=`. The
        agent refuses what systemd would read in another way than a person: a comment after a value, half a value in
        quotes, lines that go on, a name twice. It also refuses a name that it does not know. The file has at most 64 KiB.

        `systemctl reload altnet` (SIGHUP) puts settings into effect whose effect is "reload", see
        [reload](../integrator/manufacturing.md#reload). `make docs` writes this page from the tables in the code
        (`Setting.groups` and, for `altnet-mqtt`, `BridgeOptions.settings`).

        """
        + groups.map(section).joined()

    private static func section(_ group: SettingGroup) -> String {
        let rows = group.settings.map { setting in
            [
                Markdown.code(setting.name), setting.standardText, setting.form.allowed, effect(setting),
                setting.meaning,
            ]
        }
        let table = Markdown.table(["setting", "default", "allowed", "effect", "meaning"], rows)
        return "\n## \(group.title)\n\n\(table)\n"
    }
}
