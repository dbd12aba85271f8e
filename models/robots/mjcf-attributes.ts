/**
 * The attributes of MJCF's elements that are known, by the XML reference of MuJoCo 3: first those that are read where
 * they act, then those without effect on a motion without contacts. All others are told as not supported.
 */
const list = (text: string): string => text.trim().replace(/\s+/g, ' ');
const pose = 'pos quat axisangle xyaxes zaxis euler';
const naming = 'name class group user';
const actuator = 'joint jointinparent gear ctrlrange ctrllimited forcerange forcelimited inheritrange';
/** They shape the activation, which is refused, and how MuJoCo tells lengths and delays. */
const activation = 'actrange actlimited actearly actdim dynprm lengthrange nsample interp cranklength';
/** For contacts, and for the forces of a medium, which is refused. */
const contact =
  'fluidshape fluidcoef contype conaffinity condim priority friction solmix solref solimp margin gap surfacevel '
  + 'adhesion';

export const known = {
  compiler: list(`
    angle coordinate eulerseq autolimits inertiafromgeom inertiagrouprange boundmass boundinertia balanceinertia
    settotalmass fusestatic alignfree
    meshdir texturedir assetdir strippath discardvisual usethread convexhull exactmeshinertia saveinertial
    conflict fitaabb
`),
  option: list(`
    gravity density viscosity
    timestep apirate impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance mpr_tolerance o_margin
    o_solref o_solimp o_friction integrator cone jacobian solver iterations ls_iterations noslip_iterations
    ccd_iterations mpr_iterations sdf_iterations sdf_initpoints sleep_tolerance collision magnetic wind
`),
  flag: list(`
    constraint equality frictionloss limit passive spring damper gravity clampctrl actuation
    contact warmstart filterparent refsafe sensor midphase eulerdamp autoreset override energy fwdinv
    invdiscrete multiccd island nativeccd diagexact ipc sleep
`),
  body: `childclass mocap gravcomp sleep ${pose} name user simple`,
  frame: `childclass ${pose} name`,
  inertial: `mass diaginertia fullinertia ${pose}`,
  joint: list(`
    type pos axis stiffness damping frictionloss armature range limited margin ref springref springdamper
    actuatorfrcrange actuatorfrclimited
    solreflimit solimplimit solreffriction solimpfriction actuatorgravcomp ${naming}
`),
  freejoint: 'align name group',
  geom: `type size fromto mass density shellinertia mesh hfield rgba ${pose} ${contact} material fitscale ${naming}`,
  connect: 'body1 body2 anchor active name class solref solimp',
  weld: 'body1 body2 anchor active torquescale name class solref solimp',
  motor: `${actuator} ${activation} ${naming}`,
  position: `${actuator} kp kv dampratio timeconst ${activation} ${naming}`,
  velocity: `${actuator} kv ${activation} ${naming}`,
  general: `${actuator} gainprm biasprm gaintype biastype dyntype ${activation} ${naming}`,
  key: 'qpos qvel ctrl name time act mpos mquat',
};
