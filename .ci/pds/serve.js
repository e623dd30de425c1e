// Runs a PDS of the AT Protocol and the PLC directory that it needs, on loopback
// only, until it is terminated. A PDS that ends is started again after two seconds,
// as a test that kills it expects.
//
//   node serve.js PACKAGES DATA
//
// PACKAGES is where npm installed package.json beside this file. DATA is an empty
// folder: the server's data, "pid" with its process id while it answers, and "url"
// once it has answered for the first time. The directory is lost with this process.
'use strict'
const { fork } = require('node:child_process')
const { randomBytes } = require('node:crypto')
const { once } = require('node:events')
const fs = require('node:fs')
const { createRequire } = require('node:module')
const net = require('node:net')
const path = require('node:path')

const [packages, data, isPDS] = process.argv.slice(2)
const load = createRequire(path.resolve(packages, 'package.json'))
const restartPause = 2000 // ms

// Both servers would listen on all addresses.
function onLoopback(server) {
  const listen = server.app.listen.bind(server.app)
  server.app.listen = (port) => listen(port, '127.0.0.1')
  return server
}

async function servePDS() {
  process.on('disconnect', () => process.exit(1)) // whoever started it is gone
  const { PDS, envToCfg, envToSecrets, readEnv } = load('@atproto/pds')
  const env = readEnv()
  await onLoopback(await PDS.create(envToCfg(env), envToSecrets(env))).start()
  process.send('listening')
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function serve() {
  const { Database, PlcServer } = load('@did-plc/server')
  const plc = onLoopback(PlcServer.create({ db: Database.mock(), port: 0 }))
  const { port: plcPort } = (await plc.start()).address()
  const pidFile = path.join(data, 'pid')
  const hex = () => randomBytes(32).toString('hex')
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PDS_'))),
    PDS_HOSTNAME: 'localhost',
    PDS_DATA_DIRECTORY: data,
    PDS_BLOBSTORE_DISK_LOCATION: path.join(data, 'blobs'),
    PDS_PLC_ROTATION_KEY_K256_PRIVATE_KEY_HEX: hex(),
    PDS_DPOP_SECRET: hex(),
    PDS_JWT_SECRET: hex(),
    PDS_ADMIN_PASSWORD: hex(),
    PDS_DID_PLC_URL: `http://127.0.0.1:${plcPort}`,
    PDS_INVITE_REQUIRED: 'false',
    PDS_DEV_MODE: 'true', // answers are checked against the lexicons
    PDS_RATE_LIMITS_ENABLED: 'true',
  }
  let port
  for (let answered = false; ; ) {
    if (!answered) port = await freePort() // another process may have taken the one before
    const pds = fork(__filename, [packages, data, 'pds'], { env: { ...env, PDS_PORT: String(port) } })
    pds.once('message', () => {
      fs.writeFileSync(pidFile, String(pds.pid))
      if (!answered) {
        fs.writeFileSync(path.join(data, 'url.new'), `http://127.0.0.1:${port}`)
        fs.renameSync(path.join(data, 'url.new'), path.join(data, 'url'))
      }
      answered = true
    })
    const [code, signal] = await once(pds, 'exit')
    fs.rmSync(pidFile, { force: true })
    console.error(`serve: the PDS ended with ${signal ?? `status ${code}`} and is started again`)
    await new Promise((resume) => setTimeout(resume, restartPause))
  }
}

;(isPDS ? servePDS() : serve()).catch((err) => {
  console.error(err)
  process.exit(1)
})
