import FoundationEssentials
import Glibc
import Lab
import Linux
import Testing

extension Radios {
    /// A button that the kernel has from uinput, and the program that ships.
    @Suite struct ButtonTests {
        /// It comes when the program listens already, goes while it is down, and comes again.
        private static let button = #"""
            import fcntl, os, struct, sys, time

            log, started = sys.argv[1:]
            KEY, OTHER = 529, 30

            def wait(path, text, count):
                end = time.monotonic() + 20
                while open(path).read().count(text) < count:
                    if time.monotonic() > end: sys.exit(f'{path} has not {count} times "{text}": {open(path).read()}')
                    time.sleep(0.01)

            class Button:
                def __init__(self):
                    self.file = os.open('/dev/uinput', os.O_WRONLY)
                    fcntl.ioctl(self.file, 0x40045564, 1)                      # UI_SET_EVBIT, EV_KEY
                    for key in KEY, OTHER: fcntl.ioctl(self.file, 0x40045565, key)     # UI_SET_KEYBIT
                    os.write(self.file, struct.pack('80s4HI256i', b'button', 3, 1, 1, 1, 0, *[0] * 256))
                    fcntl.ioctl(self.file, 0x5501)                             # UI_DEV_CREATE
                def turn(self, key, value):
                    for event in (1, key, value), (0, 0, 0): os.write(self.file, struct.pack('llHHi', 0, 0, *event))
                def hold(self, seconds, key=KEY):
                    self.turn(key, 1)
                    time.sleep(seconds)
                    self.turn(key, 0)

            button = Button()
            wait(log, 'watching the button on', 1)
            button.hold(1.2, OTHER)
            button.hold(0.3)
            button.hold(1.2)
            wait(started, 'altnet-provisioning.target', 1)
            button.hold(2.3)
            wait(started, 'altnet-factory-reset.service', 1)
            button.turn(KEY, 1)
            time.sleep(1.2)
            os.close(button.file)
            button = Button()
            wait(log, 'watching the button on', 2)
            button.hold(1.2)
            wait(started, 'altnet-provisioning.target', 2)
            """#

        // covers: seed/button
        @Test(.extended) func theButtonStartsWhatItIsHeldFor() async throws {
            let folder = "/tmp/altnet-button"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            func write(_ text: String, to name: String) throws {
                try text.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
            }
            try write("#!/bin/sh\necho \"$*\" >>\(folder)/started\n", to: "systemctl")
            chmod(folder + "/systemctl", 0o755)
            try write(
                "ALTNET_BUTTON_KEY=KEY_WPS_BUTTON\nALTNET_BUTTON_PROVISION_S=1\nALTNET_BUTTON_RESET_S=2\n", to: "conf")
            try write(Self.button, to: "button.py")
            for name in ["log", "started"] { try write("", to: name) }
            let environment = ChildProcess.ownEnvironment
            let modules = try ChildProcess.start(
                "modprobe", ["--all", "uinput", "evdev"], environment: environment, output: .nothing)
            try #require(ChildProcess.wait(for: modules) == 0)

            let appending = ChildProcess.Stream.file(folder + "/log", flags: O_WRONLY | O_APPEND)
            let watch = try ChildProcess.start(
                Device.binary,
                ["button", "--settings", folder + "/conf", "--systemctl", folder + "/systemctl"],
                environment: environment, output: appending)
            let press = try ChildProcess.start(
                "python3", [folder + "/button.py", folder + "/log", folder + "/started"], environment: environment,
                output: appending)
            let status = ChildProcess.wait(for: press)
            kill(watch, SIGTERM)
            let ending = ChildProcess.wait(for: watch)
            let log = try String(contentsOfFile: folder + "/log", encoding: .utf8)
            #expect(status == 0 && ending == 0, "\(log)")
            let started = try String(contentsOfFile: folder + "/started", encoding: .utf8)
            #expect(
                started == """
                    start --no-block altnet-provisioning.target
                    start --no-block altnet-factory-reset.service
                    start --no-block altnet-provisioning.target

                    """, "\(log)")
        }
    }
}
